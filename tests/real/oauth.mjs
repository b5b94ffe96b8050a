// A proxy on loopback behind which every host is this program: it renews tokens, and knows nothing else.
//
//   node oauth.mjs KEY CERTIFICATE
//
// The first line that it prints is its port; then comes one line for each request: `METHOD HOST PATH BODY`.
import fs from "node:fs";
import http from "node:http";
import https from "node:https";
import net from "node:net";

const [key, cert] = process.argv.slice(2).map((path) => fs.readFileSync(path));
let renewed = 0;

const answer = (request, response) => {
  let body = "";
  request.on("data", (data) => (body += data));
  request.on("end", () => {
    console.log(`${request.method} ${request.headers.host} ${request.url.split("?")[0]} ${body.replaceAll("\n", " ")}`);
    response.setHeader("content-type", "application/json");
    if (request.url.endsWith("/token") && body.includes("revoked")) {
      response.statusCode = 400;
      response.end(JSON.stringify({ error: "invalid_grant", error_description: "Token has been expired or revoked." }));
    } else if (request.url.endsWith("/token")) {
      renewed += 1;
      response.end(
        JSON.stringify({
          access_token: `access-${renewed}`,
          refresh_token: `refresh-${renewed}`,
          expires_in: 28800,
          token_type: "Bearer",
          scope: "user:inference user:profile",
        }),
      );
    } else if (request.url.startsWith("/tokeninfo")) {
      response.end(JSON.stringify({ aud: "coppice", scope: "openid", expires_in: 28800 }));
    } else {
      response.statusCode = 404;
      response.end("{}");
    }
  });
};

const hosts = https.createServer({ key, cert }, answer);
// Gemini CLI speaks to everybody without TLS behind a proxy when its model server has none.
const proxy = http.createServer((request, response) => {
  request.url = new URL(request.url).pathname;
  answer(request, response);
});
proxy.on("connect", (request, client, head) => {
  const host = net.connect(hosts.address().port, "127.0.0.1", () => {
    client.write("HTTP/1.1 200 OK\r\n\r\n");
    host.write(head);
    client.pipe(host).pipe(client);
  });
  host.on("error", () => client.destroy());
  client.on("error", () => host.destroy());
});
hosts.listen(0, "127.0.0.1", () => proxy.listen(0, "127.0.0.1", () => console.log(proxy.address().port)));
