import { extendTable, fieldTable } from './field-table';

/** Messages: typings of @anthropic-ai/sdk 1.14.0 (`beta.messages.create`), read on 28 November 2026. */
export const anthropicMessagesFields = fieldTable(
  {
    '': `cache_control compaction container context_management diagnostics fallback_credit_token inference_geo
      max_tokens mcp_servers messages metadata model output_config output_format service_tier speed
      stop_sequences stream system temperature thinking thread tool_choice tools top_k top_p user_profile_id`,
    block_binding: 'prefix_mismatch_behavior',
    cache_control: 'ttl type',
    caching: 'ttl type',
    caller: 'tool_id type',
    citations: `cited_text document_index document_title enabled encrypted_index end_block_index end_char_index
      end_page_number search_result_index source start_block_index start_char_index start_page_number title
      type url`,
    clear_at_least: 'type value',
    client_tool_results: 'tools type',
    compaction: 'instructions type',
    container: 'id skills',
    content: `cache_control caller citations content context data encrypted_content encrypted_stdout error_code
      error_message file_id file_type from id input is_error is_file_update lines mcp_server_name name
      new_lines new_start num_lines old_lines old_start page_age retrieved_at return_code server_name
      signature source start_line state_changes stderr stdout stop_reason tabs text thinking title to tool
      tool_changes tool_name tool_references tool_use_id tools toolset_name total_lines transformations
      trigger type url`,
    context_management: 'edits',
    default_config: 'defer_loading enabled',
    definition: `allowed_callers allowed_domains blocked_domains cache_control caching citations configs default_config
      defer_loading description display_height_px display_number display_width_px eager_input_streaming
      enable_zoom input_examples input_schema max_characters max_content_tokens max_tokens max_uses
      mcp_server_name model name response_inclusion strict tools type url_sources use_cache user_location`,
    diagnostics: 'previous_message_id',
    edits:
      'clear_at_least clear_tool_inputs exclude_tools instructions keep pause_after_compaction trigger type',
    fallback_credit_token: 'mode token',
    format: 'schema type',
    from: 'model',
    keep: 'type value',
    mcp_servers: 'authorization_token name tool_configuration type url',
    messages: 'clear_at content output_config role',
    output_config: 'effort format task_budget',
    output_format: 'schema type',
    server_tool_results: 'tools type',
    skills: 'skill_id type version',
    source: 'content data file_id media_type type url',
    state_changes: 'download_id error path size_bytes tab_id type url',
    system: 'cache_control citations text type',
    tabs: 'active tab_id title url',
    task_budget: 'remaining total type',
    thinking: 'block_binding budget_tokens display type',
    thread: 'previous_message_id type',
    to: 'model',
    tool: 'definition name server_name type',
    tool_changes: 'cache_control tool type',
    tool_choice: 'disable_parallel_tool_use name type',
    tool_configuration: 'allowed_tools enabled',
    tool_references: 'cache_control tool_name type',
    tools: `allowed_callers allowed_domains blocked_domains cache_control caching citations configs default_config
      defer_loading description display_height_px display_number display_width_px eager_input_streaming
      enable_zoom input_examples input_schema max_characters max_content_tokens max_tokens max_uses
      mcp_server_name model name response_inclusion strict tools type url_sources use_cache user_location`,
    transformations: 'oversized_image',
    trigger: 'type value',
    url_sources: 'client_tool_results server_tool_results user_input',
    user_input: 'type',
    user_location: 'city country region timezone type',
  },
  'configs input input_examples input_schema metadata schema',
);

/** Messages with fields that Claude Code 2.1.332 sends and the typings lack. */
export const messagesFields = extendTable(
  anthropicMessagesFields,
  { cache_control: 'scope', content: 'cache_reference' },
  '',
);
