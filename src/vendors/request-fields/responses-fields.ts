import { fieldTable } from './field-table';

/** Responses: typings of openai 7.59.0 (`responses.create`), read on 28 November 2026. */
export const responsesFields = fieldTable(
  {
    '': `access_programs background background_options client_metadata context_management conversation image
      include input instructions max_output_tokens max_tool_calls metadata model moderation
      parallel_tool_calls previous_response_id prompt prompt_cache_key prompt_cache_options
      prompt_cache_retention reasoning safety_identifier service_tier store stream stream_options
      temperature text tool_choice tools top_logprobs top_p truncation user`,
    access_programs: 'cyber',
    acknowledged_safety_checks: 'code id message',
    action: `button command commands env keys max_output_length path pattern queries query scroll_x scroll_y
      sources text timeout_ms type url user working_directory x y`,
    actions: 'button keys path scroll_x scroll_y text type x y',
    allowed_tools: 'read_only tool_names',
    always: 'read_only tool_names',
    annotations: 'container_id end_index file_id filename index start_index title type url',
    background_options: 'completion_window continuation_id',
    caller: 'caller_id type',
    container: 'file_ids memory_limit network_policy type',
    content: `annotations detail file_data file_id file_url filename image_url logprobs prompt_cache_breakpoint
      refusal text type`,
    context_management: 'compact_threshold type',
    conversation: 'id',
    domain_secrets: 'domain name value',
    environment: 'container_id file_ids memory_limit network_policy skills type',
    error: 'code content message moderation_details param type',
    filters: 'allowed_domains filters key type value',
    format: 'definition description name schema strict syntax type',
    hybrid_search: 'embedding_weight text_weight',
    image: 'context_compression',
    input: `acknowledged_safety_checks action actions approval_request_id approve arguments async background
      call_id caller code container_id content encrypted_content environment error execution fingerprint id
      input max_output_length mode name namespace operation output output_format outputs
      pending_safety_checks phase quality queries reason reasoning result results revised_prompt role
      server_label size status summary svg_usage text tools type`,
    input_image_mask: 'file_id image_url',
    logprobs: 'bytes logprob token top_logprobs',
    moderation: 'model policy',
    moderation_details: 'categories moderation_stage',
    network_policy: 'allowed_domains domain_secrets type',
    never: 'read_only tool_names',
    operation: 'diff path type',
    outcome: 'exit_code type',
    output: `detail file_data file_id file_url filename image_url mode outcome prompt_cache_breakpoint stderr
      stdout text type`,
    outputs: 'logs type url',
    path: 'x y',
    pending_safety_checks: 'code id message',
    policy: 'input output',
    prompt: 'id variables version',
    prompt_cache_breakpoint: 'mode ttl',
    prompt_cache_options: 'comparison_response_id mode prewarm ttl',
    ranking_options: 'hybrid_search ranker score_threshold',
    reasoning: 'context effort generate_summary mode summary',
    require_approval: 'always never',
    results: 'attributes file_id filename score text',
    skills: 'description name path skill_id source type version',
    source: 'data media_type type',
    sources: 'type url',
    stream_options: 'include_obfuscation',
    summary: 'text type',
    svg: 'model reasoning',
    svg_usage: 'input_tokens model output_tokens reasoning_tokens total_tokens',
    text: 'format verbosity',
    tool_choice: 'mode name server_label tools type',
    tools: `action allowed_callers allowed_tools annotations async authorization background complexity
      connector_id container defer_loading description display_height display_width environment execution
      external_web_access filters format frame_count frame_duration_ms headers input_fidelity
      input_image_mask input_schema max_num_results model moderation name output_compression output_format
      output_schema parameters partial_images quality ranking_options require_approval search_content_types
      search_context_size server_description server_label server_url size strict svg tools tunnel_id type
      user_location vector_store_ids`,
    top_logprobs: 'bytes logprob token',
    user_location: 'city country region timezone type',
  },
  `arguments attributes client_metadata env headers input_schema metadata output_schema parameters schema
    variables`,
);
