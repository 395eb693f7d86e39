import { finalFaults, retryableFaults } from './group';

/** Long-running work: agent runtimes, bridges, canaries, deliveries and documents. */
export const operationFaults = [
  retryableFaults('R', 502, {
    agentcli_node_error: 'The node that runs the agent reported a failure. Try again in a moment.',
    collection_error: 'The data for this answer could not be collected. Try again in a moment.',
  }),
  finalFaults('R', 502, {
    agentcli_async_tool_result_forward_failed:
      'The result of a background tool did not reach the agent. Check what the tool did before you repeat it.',
    agentcli_finalization_failed:
      "The agent's work could not be brought to an end properly. Check its output.",
    agentcli_incomplete_stream: "The agent's stream ended early. Treat its output as incomplete.",
    agentcli_result_error: 'The agent finished with an error. The details hold what it reported.',
    agentcli_tool_result_forward_failed:
      'A tool result did not reach the agent. Check what the tool did before you repeat it.',
    atomic_canary_unknown: 'The canary was sent to the supplier, and its outcome is not known.',
    bridge_operation_failed:
      'The bridge could not carry out the operation. Check its effects before repeating it.',
    document_conversion_error:
      'The document could not be converted. Check that it opens, and is not protected.',
    requester_bridge_async_completion_drain_failed:
      'Finished background work could not be handed over by the bridge. Check its effects before repeating it.',
  }),
  finalFaults('R', 400, {
    agentcli_missing_endpoint:
      'No endpoint is set for the agent runtime. Configure one, then send the request again.',
    atomic_canary_binding_missing: 'The canary is not bound to a lane. Bind it before you send it.',
    atomic_canary_identity_missing: 'The canary names no identity to run as. Add one before you send it.',
  }),
  finalFaults('R', 404, {
    delivery_lease_unknown: 'There is no such delivery lease. Fetch the delivery again to get a new one.',
    no_corporate_keys: 'There are no corporate keys to use. Ask your administrator to add one.',
  }),
  finalFaults('R', 409, {
    atomic_canary_lane_mismatch:
      'The canary is bound to a different lane than the one chosen. Bind it again.',
    atomic_canary_manual_review: 'The canary was sent, and its settlement is being reviewed by a person.',
    atomic_canary_refused:
      'The canary was refused before it was sent. The details say which condition was not met.',
    max_delivery_attempts_exceeded:
      'This delivery failed too often and was given up. Fix the receiver, then resend it.',
  }),
  finalFaults('R', 500, {
    corp_key_exception: 'The corporate key could not be used. Ask your administrator to check it.',
  }),
  finalFaults('P', 403, {
    atomic_canary_forbidden:
      'You may not send canaries on this lane. Ask an administrator for the permission.',
    proxy_event_ingest_disabled: 'Taking in proxy events is switched off. Ask an administrator to enable it.',
    requester_bridge_disabled: 'The requester bridge is switched off. Ask an administrator to enable it.',
  }),
  finalFaults('R', 503, {
    requester_bridge_required_unavailable: 'This route needs the requester bridge, which is not available.',
  }),
  retryableFaults('B', 503, {
    document_conversion_operation_unavailable: 'Documents cannot be converted right now. Try again shortly.',
    sse_bridge_capacity_exhausted: 'The stream bridge carries all the streams it can. Try again shortly.',
  }),
] as const;
