import { finalFaults, retryableFaults } from './group';

export const supplierFaults = [
  retryableFaults('R', 502, {
    backend_error: 'The service behind the gateway reported a failure. Try again in a moment.',
    empty_response: 'The supplier answered with nothing. Send the request again.',
    empty_stream: 'The supplier opened a stream and sent nothing in it. Send the request again.',
    invalid_backend_response: 'The service behind the gateway sent an answer that makes no sense. Try again.',
    last_error_no_content:
      'The last supplier that was tried failed without saying why. Try again in a moment.',
    native_backend_error: 'The native supplier reported a failure. Try again in a moment.',
    native_error: 'The native call failed. The details hold what the supplier said.',
    non_json_provider_response: 'The supplier sent an answer that is not JSON. Try again in a moment.',
    provider_check_failed: 'The check of this provider failed. Look at its credential and address.',
    provider_error: 'The supplier reported an error. The details hold what it said.',
    relay_error: 'The answer was lost on its way through the relay. Send the request again.',
    request_exception: 'The request to the supplier failed before an answer came. Try again in a moment.',
    retryable: 'A passing failure stopped this request. Send it again.',
    warmup_exception: 'The supplier connection could not be warmed up. Try again in a moment.',
  }),
  finalFaults('R', 502, {
    messages_terminal_finalization_failed:
      'The end of the messages stream could not be completed. Check the output.',
    provider_response_too_large:
      "The supplier's answer is larger than the service accepts. Ask for less output.",
    responses_terminal_finalization_failed:
      'The end of the responses stream could not be completed. Check the output.',
    responses_terminal_not_completed:
      'The responses stream ended without reporting completion. Treat it as incomplete.',
    stream_drop: 'The stream was dropped before its end. Treat the output as incomplete.',
    stream_dropped: 'The connection that carried the stream was lost. Treat the output as incomplete.',
    stream_error: 'The response stream could not be completed. Treat the output as incomplete.',
    stream_exception: 'The stream failed unexpectedly. Treat the output as incomplete.',
    stream_interrupted: 'The response stream stopped before it was complete. Treat the output as incomplete.',
  }),
  retryableFaults('B', 502, {
    invalid_upstream_call_id:
      'The supplier answered with a call identifier that is not valid. Try again in a moment.',
    upstream_closed_without_session: 'The supplier closed the connection before a session began. Try again.',
    upstream_error: 'The supplier failed to answer this request. Try again in a moment.',
    upstream_failed: 'The supplier reported that this request failed. Try again in a moment.',
    upstream_invalid_response: 'The supplier sent an answer that cannot be used. Try again in a moment.',
  }),
  retryableFaults('B', 503, {
    upstream_unavailable: 'The supplier cannot be reached right now. Try again shortly.',
  }),
  retryableFaults('B', 504, {
    bridge_timeout: 'The bridge did not answer in time. Try again in a moment.',
    provider_timeout: 'The supplier took too long to answer. Try again, or ask for less at once.',
    timeout: 'This took longer than allowed. Try again, or ask for less at once.',
    upstream_timeout: 'The supplier did not answer in time. Try again, or choose another model.',
  }),
] as const;
