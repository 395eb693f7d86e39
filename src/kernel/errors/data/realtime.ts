import { finalFaults, retryableFaults } from './group';

export const realtimeFaults = [
  finalFaults('R', 400, {
    invalid_provider_sdp: "The supplier's session description is not valid. Start the call again.",
    invalid_realtime_mode: 'This realtime mode does not exist. Choose one of the documented modes.',
    invalid_sdp: 'The session description you sent is not valid. Create a new offer.',
    unsupported_realtime_event: 'This realtime event is not supported. Send one of the documented events.',
    unsupported_realtime_model: 'This model cannot be used in realtime calls. Choose a realtime model.',
  }),
  finalFaults('R', 409, {
    realtime_call_recovery_required: 'A call may have been created, and has to be recovered first.',
    realtime_limit_exceeded: 'You have as many realtime calls open as are allowed. End one of them first.',
  }),
  finalFaults('R', 500, {
    realtime_keyring_malformed:
      'The realtime keys are not set up correctly. Your administrator has to correct them.',
  }),
  finalFaults('R', 501, {
    webrtc_broker_not_enabled: 'Realtime calls over WebRTC are not enabled on this installation.',
  }),
  finalFaults('R', 502, {
    provider_realtime_error:
      'The supplier reported an error in this realtime call. Check the call before a new one.',
  }),
  finalFaults('P', 403, {
    realtime_transport_required:
      'This model can only be used over the realtime transport. Open a realtime call.',
  }),
  finalFaults('B', 502, {
    unsafe_realtime_upstream:
      "The supplier's realtime address is not safe to connect to, so no call was made.",
  }),
  retryableFaults('B', 503, {
    realtime_capacity_unavailable: 'No realtime capacity is free right now. Try again shortly.',
    realtime_keyring_unavailable: 'The realtime keys cannot be read right now. Try again shortly.',
    realtime_service_unavailable: 'Realtime calls are not available right now. Try again shortly.',
    realtime_state_unavailable:
      'The state of this realtime call cannot be read right now. Try again shortly.',
  }),
] as const;
