//! Frames of the Model Context Protocol: JSON-RPC messages parsed once and shallowly, with params and results kept as the bytes
//! they arrived in.
//!
//! This is the only module that knows that protocol revisions differ. It does no I/O and knows no session.

pub mod bridge;
pub mod capabilities;
mod check;
mod frame;
pub mod header_params;
pub mod header_value;
mod id;
mod id_finder;
pub mod input_required;
pub mod instance;
pub mod lines;
mod log_level;
mod message_frame;
pub mod meta;
pub mod method;
pub mod named_uris;
pub mod presentation;
mod raw;
mod reader;
mod request_meta;
pub mod result_type;
mod revision;
mod rpc_error;
mod scan;
mod splice;
mod target;
pub mod tool_result;
mod trace_parent;
mod window;

pub use frame::{FrameError, Message, Notification, Outcome, Request, Response, parse_client};
pub use id::{Id, RequestNumbers};
pub use id_finder::IdFinder;
pub use log_level::LogLevel;
pub use message_frame::{
    MessageFrame, error_frame, notification_frame, request_frame, response_frame, result_frame,
};
pub use raw::{Lookup, NotJson, Raw, json_fault};
pub use request_meta::{RequestMeta, is_modern, unsupported};
pub use revision::Revision;
pub use rpc_error::RpcError;
pub use scan::{Element, Elements, MemberSpan, Members};
pub use splice::{Edit, NotAnObject, splice};
pub use target::{LONGEST_NAME, LONGEST_URI, Target, Thing, TooLong, name_key};
pub use trace_parent::{RequestTrace, TraceParent};
