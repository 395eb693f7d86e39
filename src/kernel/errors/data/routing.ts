import { finalFaults, retryableFaults } from './group';

export const routingFaults = [
  finalFaults('R', 400, {
    invalid_lane_pin: 'The lane you pinned is not written correctly. Check its name.',
    invalid_provider: 'This provider is not known. Check its name.',
    invalid_provider_change_request: 'The requested provider change is incomplete or contradicts itself.',
    pin_ambiguous_lane: 'Your pin fits more than one lane. Name the supplier and the region as well.',
    provider_missing_location: 'This provider has no location set. Set its region before routing to it.',
  }),
  finalFaults('R', 403, {
    model_not_allowed:
      'Your key may not use this model. Choose one from GET /v1/models, or have it added to the key.',
  }),
  finalFaults('R', 404, {
    model_not_available: 'This model is not on offer at present. Choose another model.',
    model_not_configured: 'No supplier is set up for this model. Ask your administrator to configure one.',
    model_not_found: 'There is no model of this name. GET /v1/models lists the ones your key may use.',
    pin_no_lane: 'No lane fits your pin. Remove it, or pin a lane that exists.',
  }),
  finalFaults('R', 409, {
    provider_route_mismatch: 'This provider does not serve the chosen route. Choose a matching pair.',
  }),
  finalFaults('R', 500, {
    configuration_error:
      'This part of the service is not set up correctly. Your administrator has to correct it.',
    max_hops_exceeded:
      'The model redirects form a loop or a chain that is too long. Ask your administrator to fix them.',
  }),
  finalFaults('R', 501, {
    not_implemented: 'This operation is not available on this installation.',
  }),
  retryableFaults('R', 429, {
    supplier_limit:
      'The supplier of this model is limiting requests. Wait a moment, or choose another model.',
  }),
  retryableFaults('R', 502, {
    all_providers_exhausted:
      'Every supplier of this model was tried, and none could answer. Try again later.',
    backup_chain_exhausted: 'The model and all of its backups failed to answer. Try again later.',
    edge_error: 'The edge could not reach the application. Try again in a moment.',
    router_http_error: 'The router received an unusable answer. Try again in a moment.',
  }),
  retryableFaults('R', 503, {
    autorouter_no_candidate:
      'No model fits what the automatic routing was asked for. Relax the conditions or name a model.',
    no_providers_available: 'No supplier of this model can take requests right now. Try again shortly.',
    pod_draining:
      'This node is shutting down and takes no new work. Send the request again to reach another one.',
  }),
  finalFaults('P', 403, {
    model_not_accessible:
      'Your organisation or department has no access to this model. Ask an administrator for it.',
    native_org_context_required: 'Native calls need an organisation. Use a key that belongs to one.',
    native_org_lane_disabled:
      'Native calls are switched off for your organisation. Ask an administrator to enable them.',
    document_conversion_provider_policy_invalid:
      'The policy for document conversion names no usable provider. Ask an administrator to correct it.',
    pin_forbidden: 'Your key may not pin a lane. Remove the pin, or ask for the permission.',
    provider_redirect_forbidden:
      'The supplier tried to redirect the request elsewhere, which policy forbids.',
  }),
  retryableFaults('B', 429, {
    capacity_exceeded:
      'Requests in flight hold all that is left of a limit. Wait a moment, then send it again.',
    identity_execution_capacity:
      'The identity that runs this work is fully occupied. Wait until some of it finishes.',
    rate_limit_exceeded: 'Too many requests in a short time. Wait as long as the Retry-After header says.',
  }),
  retryableFaults('B', 503, {
    autorouter_unavailable:
      'Automatic routing is not available right now. Name a model, or try again shortly.',
    byok_mode_unavailable: 'Calls with your own supplier key are not possible right now. Try again shortly.',
    model_unavailable: 'This model cannot answer right now. Try again shortly, or choose another model.',
    preferred_node_unavailable: 'The preferred node is not available right now. Try again shortly.',
    provider_unavailable: 'The supplier of this model is not available right now. Try again shortly.',
    rate_limit_state_unavailable: 'Your rate limit cannot be checked right now. Try again shortly.',
    responses_provider_unavailable:
      'No supplier can serve the responses format right now. Try again shortly.',
    sovereign_route_validation_unavailable:
      'The region of the route cannot be confirmed right now. Try again shortly.',
    strict_preferred_runtime_node_unavailable:
      'The node this request insists on is not available. Try again shortly, or allow another node.',
    transcription_provider_unavailable: 'No supplier can transcribe audio right now. Try again shortly.',
  }),
  finalFaults('B', 503, {
    sovereign_route_unavailable:
      'No supplier of this model lies within the regions that are allowed. Nothing left the region.',
  }),
] as const;
