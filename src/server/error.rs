//! Refusals as HTTP, and requests that are refused before they reach the engine.

use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;

use crate::api::error::{Error, ErrorBody, ErrorKind};

/// A refusal on its way out.
#[derive(Debug)]
pub(super) struct Refusal(pub(super) Error);

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = match self.0.kind {
            ErrorKind::Invalid => StatusCode::BAD_REQUEST,
            ErrorKind::NotFound => StatusCode::NOT_FOUND,
            ErrorKind::Conflict => StatusCode::CONFLICT,
            ErrorKind::Forbidden => StatusCode::FORBIDDEN,
            ErrorKind::Failed => StatusCode::UNPROCESSABLE_ENTITY,
            ErrorKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            ErrorKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        };
        (status, Json(ErrorBody { error: self.0 })).into_response()
    }
}

/// A JSON body of the expected shape.
pub(super) struct Body<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, state: &S) -> Result<Self, Refusal> {
        let Json(value) = Json::from_request(request, state)
            .await
            .map_err(|rejection: JsonRejection| unusable("the request's body is not usable", rejection.body_text()))?;
        Ok(Self(value))
    }
}

/// A query of the expected shape.
pub(super) struct Asked<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Asked<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let Query(value) = Query::from_request_parts(parts, state).await.map_err(|rejection: QueryRejection| {
            unusable("the request's query is not usable", rejection.body_text())
        })?;
        Ok(Self(value))
    }
}

/// Names in the path of the expected shape.
pub(super) struct Named<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Named<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let Path(value) = Path::from_request_parts(parts, state)
            .await
            .map_err(|rejection: PathRejection| unusable("the request's path is not usable", rejection.body_text()))?;
        Ok(Self(value))
    }
}

fn unusable(message: &str, cause: String) -> Refusal {
    Refusal(Error { causes: vec![cause], ..Error::new(ErrorKind::Invalid, message) })
}

/// The answer to a path that is none.
pub(super) async fn no_such_path(request: Request) -> Refusal {
    let message = format!("`{}` is not a path of this interface", request.uri().path());
    Refusal(Error::new(ErrorKind::NotFound, message))
}

/// The answer to a verb that the path does not know.
pub(super) async fn no_such_method(request: Request) -> Refusal {
    let message = format!("`{}` does not know the method `{}`", request.uri().path(), request.method());
    Refusal(Error::new(ErrorKind::Invalid, message))
}
