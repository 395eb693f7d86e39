import { finalFaults, retryableFaults } from './group';

export const requestFaults = [
  finalFaults('R', 400, {
    context_length:
      'The input is longer than this model can read. Shorten it, or choose a model with a larger context.',
    context_length_exceeded:
      "Input and requested output together exceed the model's context. Shorten the input or lower the output limit.",
    context_length_exceeded_orchestration:
      'The conversation outgrew the context while steps were being carried out. Start again with a shorter one.',
    invalid_arguments: 'The arguments do not fit this operation. Compare them with its description.',
    invalid_document_input:
      'The document could not be read as input. Check the file, and how it is referred to.',
    invalid_event_type: 'This event type is not known. Use one of the documented types.',
    invalid_idempotency_key:
      'The Idempotency-Key header is empty, too long or has invalid characters. Use 1 to 255 visible ASCII characters.',
    invalid_image_count:
      'This number of images is not possible here. Ask for a number within the allowed range.',
    invalid_image_dimensions:
      'These image dimensions are not supported. Choose one of the sizes the model offers.',
    invalid_input: 'The value of "input" is not in a form this operation accepts.',
    invalid_json: 'The request body is not valid JSON. Check it for a missing quote, comma or bracket.',
    invalid_ocr_input: 'This input cannot be read by text recognition. Send a supported image or document.',
    invalid_publication_request:
      'The publication request is incomplete or contradicts itself. Check its fields.',
    invalid_request: 'The request is not valid. Check it against the description of this operation.',
    invalid_schema_version: 'This schema version is not known. Use a version that the service supports.',
    invalid_terminal:
      'The terminal named in this request does not exist or cannot be used. Choose another one.',
    invalid_workload_attribution:
      'The workload named in this request cannot be charged. Check its attribution fields.',
    json_decode_error: 'A JSON value in this request could not be decoded. Check that it is complete.',
    missing_events: 'The list of events is empty. Send at least one event.',
    missing_fields: 'Required fields are missing. The details name them.',
    missing_model: 'Say which model to use in the field "model".',
    missing_node: 'Say which node this request is meant for.',
    missing_prompt: 'Send a prompt: there is nothing to answer.',
    missing_sticky_key: 'This operation needs a sticky key. Add "sticky_key" to the metadata.',
    missing_terminal: 'Say which terminal this request is meant for.',
    missing_tool_call_id: 'A tool result must name the tool call it answers. Add its "tool_call_id".',
    missing_workspace: 'Say which workspace this request belongs to.',
    model_does_not_support_tools:
      'This model cannot call tools. Remove the tools, or choose a model that can.',
    unresolved_image_dimensions: 'The size of the image could not be determined. State its width and height.',
    unsupported_auto_mode: 'This automatic mode does not exist. Choose one of the documented modes.',
    unsupported_autorouter_algorithm:
      'This routing algorithm does not exist. Choose one of the documented ones.',
    unsupported_image_model: 'This model cannot make images. Choose an image model.',
    unsupported_ocr_adapter: 'This text recognition adapter is not supported. Choose another one.',
    unsupported_parameter:
      'A parameter of this request is not supported here. Remove it and send the request again.',
    validation_error: 'Some values are missing or not valid. The details name each one.',
  }),
  finalFaults('R', 404, {
    not_found: 'There is nothing at this address, or you may not see it.',
    operation_unknown: 'There is no such operation. Check its identifier.',
    provider_change_not_found: 'There is no such provider change, or it has been removed.',
    publication_plan_not_found: 'There is no such publication plan, or it has been removed.',
  }),
  finalFaults('R', 405, {
    method_not_allowed: 'This address does not support that method. The Allow header lists the ones it does.',
  }),
  finalFaults('R', 409, {
    alias_redirect_conflict:
      'This alias and a redirect point at each other or at different models. Remove one of them.',
    conflict: 'The resource is not in a state that allows this. Load it again, then decide anew.',
    idempotency_conflict:
      'This idempotency key was already used with a different body. Use a new key for a new request.',
    not_completed: 'The operation has not completed yet, so there is no result. Ask again later.',
    promo_grant_create_failed:
      'The promotion grant could not be created as described. Check its amount and dates.',
    promo_grant_update_failed:
      'The promotion grant could not be changed. Load it again and check your changes.',
    provider_change_status_conflict: 'This provider change has moved on to another status. Load it again.',
    publication_plan_conflict: 'The publication plan was changed by someone else. Load it again.',
    secondary_only_evidence_cannot_stage:
      'Secondary evidence alone cannot stage this change. Add primary evidence.',
    stale_reconciliation_action: 'This reconciliation step is out of date. Load the current state first.',
  }),
  finalFaults('C', 409, {
    free_token_grant_create_failed:
      'The free token grant could not be created. Check the account it is meant for.',
    free_token_grant_update_failed:
      'The free token grant could not be changed. Check the account it belongs to.',
  }),
  retryableFaults('R', 409, {
    operation_in_progress:
      'A request with this idempotency key is still being carried out. Wait for it to finish.',
  }),
  finalFaults('R', 413, {
    async_completion_too_large:
      'The result of this background operation is too large to keep. Ask for less output.',
    operation_too_large: 'This operation is too large to carry out at once. Split it into smaller ones.',
    request_too_large: 'The request is larger than the service accepts. Send less at once.',
    result_too_large: 'The result is too large to return. Narrow the request down.',
    too_many_events: 'There are too many events in one request. Send them in smaller batches.',
  }),
  finalFaults('R', 415, {
    unsupported_document_type: 'Documents of this type cannot be processed. Convert the document first.',
    unsupported_media_type:
      'The content type of this request is not supported. Check the Content-Type header.',
  }),
  retryableFaults('B', 408, {
    request_timeout:
      'The request did not arrive completely in time. Check the connection, then send it again.',
  }),
] as const;
