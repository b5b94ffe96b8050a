//! Rows of commands that never run, and of commands that only look like them.

use proptest::prelude::*;

use super::*;

#[test]
fn what_ends_a_machine_or_a_home_never_runs() {
    for text in [
        "rm -rf /",
        "rm -fr /",
        "rm -r -f /",
        "rm -Rf /*",
        "rm --recursive --force /",
        "rm --rec /",
        "rm -rf --no-preserve-root x",
        "rm -rf ~",
        "rm -rf ~/",
        "rm -rf ~/*",
        "rm -rf ~root",
        "rm -rf $HOME",
        "rm -rf \"$HOME\"/",
        "rm -rf ${HOME}/*",
        "rm -rf \"${HOME:?}\"",
        "rm -rf /etc /x",
        "rm -rf /usr/",
        "rm -rf /usr/*",
        "rm -rf /usr/b*",
        "rm -rf /home/me",
        "rm -rf /var/../etc/.",
        "rm -rf //etc//",
        "rm -rf -- /",
        "rm -rf /{bin,x}",
        "rm {-rf,/}",
        "{rm,-rf,/}",
        "[[ -v 'a[$(rm -rf $HOME)]' ]]; git log",
        "cat > x <<'EOF'\nsudo rm -rf /\nEOF",
        "x='-rf /'; rm $x",
        "D=$HOME; rm -rf \"$D\"/*",
        "d=/usr; rm -r $d/lib",
        "\\rm -rf /",
        "'rm' -rf '/'",
        "r\"m\" -r'f' /",
        "/bin/rm -rf /",
        "sudo ls",
        "/usr/bin/sudo ls",
        "\"sudo\" ls",
        "doas x",
        "pkexec x",
        "su -c ls",
        "env A=1 nohup nice -n 5 timeout -s KILL 5 rm -rf /",
        "command exec busybox rm -rf /",
        "timeout $T rm -rf /",
        "xargs rm -rf / < x",
        "echo / | xargs rm -rf",
        "find . -exec sudo x {} \\;",
        "cd / && rm -rf *",
        "cd && rm -rf .",
        "cd /tmp && cd .. && rm -rf *",
        "cd /home && cd .. && rm -rf usr",
        "cd ~/x; cd ..; rm -rf *",
        "cd /; rm -rf usr",
        "x=/; rm -rf $x",
        "x=/; rm -rf \"${x}\"",
        "rm -rf ${x:-/}",
        "x=xrm; ${x#x} -rf /",
        "x=/; rm -rf ${x%y}",
        "rm -rf $(echo /)",
        "x=sudo; $x ls",
        "$(which sudo) ls",
        "alias s='sudo ls'",
        "bash -c 'rm -rf /'",
        "sh -c \"cd x; sudo make\"",
        "eval 'rm -rf ~'",
        "env bash -lc 'rm -rf /'",
        "bash <<EOF\nrm -rf /\nEOF",
        "echo 'rm -rf /' | sh",
        "bash <(echo 'rm -rf /')",
        "eval \"$(echo rm -rf /)\"",
        "echo $(rm -rf /)",
        "if true; then rm -rf /; fi",
        "f() { rm -rf /; }",
        "trap 'rm -rf /' EXIT",
        "find / -delete",
        "find /etc -name x -delete",
        "find ~ -delete",
        "find / -exec rm -rf {} +",
        "find -L / -type f -delete",
        "mkfs /dev/sda1",
        "mkfs.ext4 disk",
        "dd if=/dev/zero of=/dev/sda bs=1M",
        "dd of=/dev/nvme0n1 if=x",
        "cat x > /dev/sda",
        "{ cat x; } > /dev/sdb",
        "tee /dev/vda < x",
        "cp x /dev/mapper/root",
        "cp x /dev/sda -v",
        "cp -t /dev/sda x",
        "cp -vt/dev/sda x",
        "mv --target-directory=/dev/sda x",
        "mv --target /dev/sda x",
        "install -m 644 x /dev/sda",
        "dd of=/dev/./sda",
        "dd of=//dev//sda",
        "dd of=/tmp/../dev/sda",
        "cat x > /dev/../dev/sda",
        "cd /dev && cat x > sda",
        "cd /dev; dd if=x of=sda",
        "tee /dev/s[d]a < x",
        "tee -a /proc/sysrq-trigger",
        "echo b > /proc/./sysrq-trigger",
        "echo b | tee /proc/sysrq-t*",
        "cp x /proc/sysrq-trigger",
        "wipefs -a /dev/sda",
        "wipefs /dev/sda -a",
        "shred /dev/sda -n 1",
        "tee /dev/sda /dev/null",
        "echo b > /proc/sysrq-trigger",
        ":(){ :|:& };:",
        "bomb() { bomb | bomb & }; bomb",
        "bomb() { bomb | bomb; }; bomb",
        "killall5 -9",
        "tar --remove-files -cf x ~",
        "rm -rf $(realpath /)",
        "function b { b & b & }",
        "shutdown -h now",
        "/sbin/reboot",
        "halt",
        "poweroff",
        "init 0",
        "telinit 6",
        "systemctl reboot",
        "systemctl isolate poweroff.target",
        "ls; reboot",
        "/bin/r[m] -rf /",
        "/bin/r? -rf ~",
        "r* -rf /etc",
        "env /bin/r[m] -rf /",
        "poetry run /bin/r[m] -rf /",
        "find / -exec /bin/r[m] {} +",
        "/usr/bin/sud? ls",
        "/sbin/reboo[t]",
        "r${z}m -rf /",
        "${z}rm -rf /",
        "r$(:)m -rf /",
        "su${z}do ls",
        "r\"$x\"m -rf /",
        "r$x'm' -rf /",
        "r$x\\m -rf /",
        "s\"$x\"udo id",
        "s$(cat f)udo id",
        "sh -c 's\"$x\"udo id'",
        "r${x:-${y}}m -rf /",
        "r{m..m} -rf /",
        "{s..s}udo id",
        "env {s..s}udo id",
        "x=1; xy=sudo; $xy id",
        "z=ls; z=sudo; $z id",
        "z=; z=rm; $z -rf /",
        "x=r; x+=m; $x -rf /",
        "x=su; x+=do; $x id",
        "for x in ls sudo; do $x id; done",
        "for x in ls {su,s}; do ${x}do id; done",
        "$x -rf /",
        "$(cat f) -rf ~",
        "$(readlink x) -rf ~",
        "$(ls /bin/* | tail -1) -rf ~",
        "x=a; x=/; rm -rf $x",
        "busybox reboot",
        "toybox reboot",
        "xargs rm -rf <<< /",
        "xargs rm -rf <<< '/ x'",
        "xargs rm -rf <<E\n/\nE",
        "find / | xargs rm -rf",
        "find / -type f -print0 | xargs -0 rm -f",
        "find ~ | xargs rm -rf",
        "find /etc -name x | xargs -n 1 shred",
        "cd / && find . | xargs rm",
        "x=xsudo; ${x#x} id",
        "x=sudox; ${x%x} id",
        "x=xrebootx; ${x:1:6}",
        "echo 'rm -rf /' | python3",
        "echo 'import os; os.system(\"rm -rf /\")' | python3.11 -",
    ] {
        assert!(catastrophe(text).is_some(), "{text}");
    }
}

#[test]
fn what_only_looks_like_it_is_left_to_the_rules() {
    for text in [
        "rm -rf target",
        "apt install sudo curl",
        "docker exec db su postgres -c x",
        "rm -rf ./node_modules",
        "rm -rf /tmp/x",
        "rm -rf /tmp/*",
        "rm -rf \"$TMPDIR/x\"",
        "rm -rf ~/projects/x",
        "rm -rf $HOME/.cache/x",
        "rm -rf /home/me/x",
        "rm -rf /home/me/x*",
        "rm -rf /var/tmp/x /opt/x",
        "rm /etc",
        "rm -f /x",
        "rm -rf *",
        "cd /tmp/x && rm -rf *",
        "cd src && rm -rf .",
        "grep -r sudo .",
        "echo \"rm -rf /\"",
        "echo rm -rf /",
        "printf '%s' 'sudo reboot'",
        "git commit -m \"reboot the parser\"",
        "which sudo",
        "command -v sudo",
        "man shutdown",
        "npm run reboot",
        "./shutdown",
        "make halt",
        "npm init 0",
        "systemctl status x",
        "find . -delete",
        "find ~ -name .DS_Store -delete",
        "find / -name x",
        "dd if=/dev/sda of=disk.img",
        "dd if=/dev/zero of=x",
        "cat /dev/sda > x",
        "cp /dev/sda x",
        "cp -t x /dev/sda y",
        "cp x dev/sda",
        "tee /dev/std* /dev/tty",
        "cat /proc/sysrq-trigger",
        "ls > /dev/null 2>&1",
        "f() { g | h & }; f",
        "fib() { echo $(( $(fib 1) + $(fib 2) )); }",
        "echo ':(){ :|:& };:'",
        "# sudo rm -rf /\nls",
        "rg 'rm -rf /' src",
        "sed -i 's/sudo //' x",
        "case $1 in s*) ls;; re*) ls;; *) ls;; esac",
        "case $1 in ''|*[!0-9]*) echo no;; [Yy]*) ls;; \\?) ls;; /s*) ls;; esac",
        "for i in 1 2; do ./s$i x; done",
        "./s* x",
        "$SCRIPTS/reboot",
        "[[ -d $x ]] && ls",
        "rm -rf $BUILD/*",
        "$CC -o x x.c",
        "$x id",
        "s=1; $s id",
        "jj describe -m 'Remove sudo from CI'",
        "make sudo",
        "man sudo",
        "adb reboot; vagrant halt",
        "for p in sudo su; do command -v $p; done",
        "find / -name x | xargs ls",
        "find ~ -name .DS_Store | xargs rm -f",
        "find . -name x | xargs rm -rf",
        "find src -exec rm {} +; find / -name x",
        "xargs rm -rf < list",
        "xargs rm -rf <<< x",
        "SUDO=sudo; $MAKE install",
        "x=visual; ${x%al} id",
    ] {
        assert_eq!(catastrophe(text), None, "{text}");
    }
}

#[test]
fn what_cannot_be_read_is_searched_for_words() {
    for text in
        ["rm -rf / 'open", "echo \"open; sudo ls", "if true; then reboot", "bash -c 'rm -rf / \"'", "( dd of=/dev/sda"]
    {
        assert!(ShellText::read(text).opaque.is_some() && catastrophe(text).is_some(), "{text}");
    }
    for text in ["echo 'open", "ls ) sudoku", "echo \"it does not use sudo"] {
        assert_eq!(catastrophe(text), None, "{text}");
    }
}

#[test]
fn a_reason_names_what_would_happen() {
    let reason = |text: &str| catastrophe(text).unwrap_or_default();
    assert_eq!(reason("cd x && rm -rf ~/"), "`rm` would delete `~/`");
    assert_eq!(reason("/usr/bin/sudo ls"), "`sudo` takes rights that no agent gets");
    assert_eq!(reason("cat x > /dev/sda"), "it would overwrite `/dev/sda`");
    assert_eq!(reason("reboot"), "`reboot` would stop this machine");
}

#[test]
fn every_way_to_lose_a_home_or_a_machine_is_known() {
    for text in [
        "shred -u ~/*",
        "truncate -s 0 ~/*",
        "find ~ -type f -exec truncate -s0 {} +",
        "rsync -a --delete empty/ ~/",
        "mv ~ /dev/null",
        "mv /usr /usr2",
        "rm -rf ~/../me",
        "chmod -R 000 /",
        "chown -R me /etc",
        "kill -9 -1",
        "parted /dev/sda mklabel gpt",
        "fdisk /dev/sda",
        "cryptsetup luksFormat /dev/sda",
        "nvme format /dev/nvme0n1",
        "mkdosfs /dev/sda1",
        "pvcreate /dev/sdb",
        "runuser -u root x",
        "gosu root x",
    ] {
        assert!(catastrophe(text).is_some(), "{text}");
    }
    for text in [
        "mv a ~/b",
        "mv a ~",
        "mv ~/a b",
        "rsync -a a/ ~/",
        "rsync -a --delete a/ ~/backup/",
        "chmod -R u+w src",
        "chmod +x /usr/local/bin/x",
        "kill -9 123",
        "kill -1 123",
        "truncate -s 0 log",
        "rm -rf ../x",
    ] {
        assert_eq!(catastrophe(text), None, "{text}");
    }
    let at_home = |text: &str| {
        catastrophe_at_home(&ShellText::read(text), text, Path::new("/data/me"), Path::new("/data/me/a/tree")).is_some()
    };
    for text in ["rm -rf /data/me", "rm -rf '/data/me/'", "rm -rf /data/me/*", "cd /data/me && rm -rf *"] {
        assert!(at_home(text), "{text}");
    }
    for text in ["rm -rf /data/me/x", "rm -rf /data/me2", "rm -rf /data/me-old/x", "ls /data/me"] {
        assert!(!at_home(text), "{text}");
    }
}

#[test]
fn a_home_and_a_machine_are_kept_from_options_and_programs_before_the_words_that_lose_them() {
    for text in [
        // Options before the places of `find`, and none of them.
        "find -O3 / -delete",
        "find -L -O2 ~ -delete",
        "find -D exec ~ -delete",
        "find -- / -delete",
        "find -P -- / -delete",
        "find -Hx ~ -delete",
        "find -O1 -H -- ~ -exec rm {} +",
        "cd ~ && find -delete",
        "cd / && find -xdev -delete",
        "cd / && find -type f -delete",
        "cd ~; find -D exec -delete",
        "cd / && find | xargs rm",
        // Letters and beginnings of options.
        "chmod -fR 0 ~",
        "chmod -vR 0 ~",
        "chown -hR 1 ~",
        "chmod --recurs 0 ~",
        "chgrp -vfR x /etc",
        "chown --rec x /",
        // Operands behind the signal.
        "kill -9 -1 1",
        "kill -9 -01",
        "kill -s KILL -- -1 7",
        "echo -1 | xargs kill -9",
        "echo -9 -1 | xargs -n 2 kill",
        // The root of a process.
        "rm -rf /proc/self/root/home",
        "rm -rf /proc/self/root/*",
        "rm -rf /proc/$$/root/home",
        "rm -rf /proc/self/task/1/root/etc",
        "rm -rf /proc/self/ro?t/../home",
        "rm -rf /proc/thread-self/root/proc/1/root/usr",
        "cd /; rm -rf /proc/self/cwd/home",
        "cd /; rm -rf /proc/thread-self/cwd/home",
        "rm -rf /dev/fd/../root/home",
        "echo x > /proc/self/root/dev/sda",
        // The directory that `env` goes to.
        "env -C / rm -rf home",
        "env -C/ rm -rf home",
        "env -iC / rm -rf home",
        "env --chdir=/home rm -rf me",
        "env --chd / rm -rf usr",
        "/usr/bin/env -C ~ find -delete",
        "nice env A=b -C / find . -delete",
        // Programs between those that list and those that remove.
        "find ~ -type f -exec env rm {} +",
        "find ~ -type f -exec nice rm {} +",
        "find ~ -type f -exec busybox rm {} +",
        "find ~ -type f -exec sh -c 'rm \"$@\"' _ {} +",
        "find ~ -exec sh -c 'for f; do \\rm -f $f; done' _ {} +",
        "find ~ -print0 | xargs -0 env rm",
        "find / | xargs nice -n 5 shred",
        "find ~ -type f | xargs sh -c 'rm \"$@\"' _",
        "find ~ -type f | xargs sh -c 'rm \"${@}\"' _",
        // Letters of `fd`, and `--pre` of `rg`.
        "fd -Hx rm . /",
        "fd . / -Hx rm",
        "fd -HIx rm . /",
        "fd -HX rm . ~",
        "cd ~ && fd -x rm",
        "fd -x rm --search-path=/",
        "cd / && fd . -Hxrm",
        "rg --pre rm '' ~",
        "rg --pre=rm x /",
        "cd ~ && rg x --pre rm",
        // Values for a program behind `env`.
        "env GIT_EDITOR='rm -rf ~' git commit --amend",
        "nice env A=1 X='rm -rf /' make",
        "env -i LESSOPEN='|rm -rf ~' less f",
    ] {
        assert!(catastrophe(text).is_some(), "{text}");
    }
    for text in [
        "find -O3 . -delete",
        "find -D exec src -delete",
        "find -- src -delete",
        "cd /tmp/x && find -delete",
        "find / -exec grep -l rm {} +",
        "find ~ -name x -exec env ls {} +",
        "find src -exec sh -c 'rm \"$@\"' _ {} +",
        "chmod -fR 0 ~/x",
        "chmod -rw ~",
        "kill -9 1 -10",
        "kill -1 123",
        "rm -rf /proc/self/root/tmp/x",
        "env -C /tmp rm -rf home",
        "env make -C / home",
        "fd -Hx rm . src",
        "rg -l x ~ | xargs ls",
        "cd src && fd -x rm",
        "env X=~/x make",
    ] {
        assert_eq!(catastrophe(text), None, "{text}");
    }
}

#[test]
fn known_values_count_in_every_word_and_redirection() {
    for text in [
        "D=/dev/sda; dd of=$D",
        "D=/dev/sda; echo x > $D",
        "D=/dev/sda; cp x $D",
        "D=/dev/sda; D=x; cp x $D",
        "D=/dev/sda; shred $D",
        "D=sda; dd of=/dev/$D",
        "A=/dev; D=$A/sda; dd of=\"$D\"",
        "for d in /dev/sda /dev/sdb; do wipefs -a $d; done",
        "D=~; mv $D x",
        "D=~; find $D -delete",
        "D=/; chmod -R 000 $D",
        "D=/dev; cd $D; dd of=sda",
        "bash -c 'D=/dev/sda; dd of=$D'",
    ] {
        assert!(catastrophe(text).is_some(), "{text}");
    }
    for text in [
        "for f in src/*.rs; do wc -l \"$f\"; done",
        "D=target; rm -rf \"$D/tmp\"",
        "OUT=build; mkdir -p $OUT && cp a $OUT/",
        "D=/dev/sda; dd if=$D of=x",
        "D=$PWD/x; rm -rf $D",
    ] {
        let read = ShellText::read(text);
        assert_eq!(catastrophe(text), None, "{text}");
        assert_eq!(describe_risk(&read, text), None, "{text}");
        assert!(!read.opaque.is_some_and(|construct| construct.is_malformed()), "{text}");
    }
}

#[test]
fn a_home_is_kept_from_other_spellings_of_its_loss() {
    for text in [
        "mv -t /tmp ~",
        "mv --target-directory=/tmp ~",
        "mv --target-directory /tmp ~",
        "mv -t/tmp ~",
        "fd . / -X rm -rf",
        "fd -H . ~ -x rm",
        "find ~ | xargs -d '\\n' rm -rf",
        "find ~ -name '*' -delete",
        "chmod -R 000 ~",
        "chown -R nobody ~",
        "echo 'rm -rf ~' | at now",
        "find ~ | while read f; do rm \"$f\"; done",
        "find ~ -type f -print0 | while IFS= read -r -d '' f; do rm -f -- \"$f\"; done",
        "while read -r x; do shred $x; done < <(find /)",
        "find ~ | { mapfile -t files; rm \"${files[@]}\"; }",
    ] {
        assert!(catastrophe(text).is_some(), "{text}");
    }
    for text in [
        "mv -t ~ a",
        "mv -t /tmp ~/a",
        "fd . src -X rm",
        "chmod -R u+w ~/x",
        "find a | xargs -d '\\n' rm",
        "ls -1 | xargs kill",
        "ls -1t | xargs -n 1 kill -9",
        "find ~ -name .DS_Store | while read f; do rm \"$f\"; done",
        "find src | while read f; do rm \"$f\"; done",
        "find ~ | while read f; do wc -l \"$f\"; done; rm \"$x\"",
    ] {
        assert_eq!(catastrophe(text), None, "{text}");
    }
}

#[test]
fn a_path_counts_from_the_directory_that_a_command_runs_in() {
    let is_lost = |text: &str, cwd: &str| {
        catastrophe_at_home(&ShellText::read(text), text, Path::new("/data/me"), Path::new(cwd)).is_some()
    };
    for (text, cwd) in [
        ("rm -rf ../../../../..", "/data/me/a/tree"),
        ("rm -rf ../..", "/data/me/a/tree"),
        ("cd ../../.. && rm -rf *", "/data/me/a/tree"),
        ("cd ..; cd ..; rm -rf .", "/data/me/a/tree"),
        ("rm -rf ../../..", "/srv/a/tree"),
        ("rm -rf \"$(pwd)/../../..\"", "/srv/a/tree"),
        ("rm -rf ../../../etc", "/srv/a/tree"),
    ] {
        assert!(is_lost(text, cwd), "{text}");
    }
    for text in
        ["rm -rf ..", "rm -rf ../x", "rm -rf *", "cd .. && rm -rf x/*", "cd sub; X=1 rm -rf ../*", "rm -rf ../../x"]
    {
        assert!(!is_lost(text, "/data/me/a/tree"), "{text}");
    }
}

#[test]
fn a_person_looks_at_what_may_write_to_a_disk_or_delete_below_an_empty_variable() {
    for text in [
        "anything /dev/sda",
        "anything --to=/dev/nvme0n1",
        "D=/dev/sda; anything $D",
        "rm -rf $UNSET/*",
        "rm -rf \"$UNSET\"/*",
        "rm -rf ${UNSET}/",
    ] {
        assert!(describe_risk(&ShellText::read(text), text).is_some(), "{text}");
    }
    for text in [
        "cat /dev/sda",
        "dd if=/dev/sda of=x",
        "lsblk /dev/sda",
        "rm -rf $BUILD/x",
        "rm -rf ${BUILD:?}/*",
        "B=build; rm -rf $B/*",
        "rm -rf $(mktemp -d)/*",
        "ls $UNSET/*",
    ] {
        assert_eq!(describe_risk(&ShellText::read(text), text), None, "{text}");
    }
}

proptest! {
    #[test]
    fn no_wrapping_hides_it(
        before in "(|ls; |ls \\| |ls && |A=b |env |env -i B=c |nice -n 5 |timeout 3 |timeout -k 1 3s |nohup |xargs -0 |\\(|echo \\$\\(|if |! |> a |exec |command |time |while |\\{ |x=\\$\\(|echo `|bash -c '|eval \"|case x in x\\) )",
        command in "(rm -rf /|rm -fr ~|\\\\rm -r -f /etc|'rm' -Rf //|r''m -rf /|/bin/rm -rf -- /|sudo ls|/usr/bin/sudo -n ls|reboot|mkfs\\.ext4 x|dd of=/dev/sda|find / -delete|ls > /dev/sda)",
        after in "(| x|; ls| && ls|\\)|'|\"|`|\n| #x)",
    ) {
        let text = format!("{before}{command}{after}");
        prop_assert!(catastrophe(&text).is_some(), "{}", text);
    }

    #[test]
    fn any_text_is_survived(text in any::<String>()) {
        catastrophe(&text);
    }
}
