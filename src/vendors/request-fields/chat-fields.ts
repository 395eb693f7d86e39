import { extendTable, fieldTable } from './field-table';

/** Chat completions: typings of openai 7.59.0 (`chat.completions.create`), read on 28 November 2026. */
export const openaiChatFields = fieldTable(
  {
    '': `audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens
      messages metadata modalities model moderation n parallel_tool_calls prediction presence_penalty
      prompt_cache_key prompt_cache_options prompt_cache_retention reasoning_effort response_format
      safety_identifier seed service_tier stop store stream stream_options temperature tool_choice tools
      top_logprobs top_p user verbosity web_search_options`,
    allowed_tools: 'mode tools',
    approximate: 'city country region timezone',
    audio: 'format id voice',
    content: 'file image_url input_audio prompt_cache_breakpoint refusal text type',
    custom: 'description format input name',
    file: 'file_data file_id filename',
    format: 'grammar type',
    function: 'arguments description name parameters strict',
    function_call: 'arguments name',
    functions: 'description name parameters',
    grammar: 'definition syntax',
    image_url: 'detail url',
    input: 'mode',
    input_audio: 'data format',
    json_schema: 'description name schema strict',
    messages: 'audio content function_call name refusal role tool_call_id tool_calls',
    moderation: 'model policy',
    output: 'mode',
    policy: 'input output',
    prediction: 'content type',
    prompt_cache_breakpoint: 'mode ttl',
    prompt_cache_options: 'mode ttl',
    response_format: 'json_schema type',
    stream_options: 'include_obfuscation include_usage',
    tool_calls: 'custom function id type',
    tool_choice: 'allowed_tools custom function type',
    tools: 'custom function type',
    user_location: 'approximate type',
    voice: 'id',
    web_search_options: 'search_context_size user_location',
  },
  'arguments logit_bias metadata parameters schema',
);

/**
 * Chat completions with fields that other suppliers and clients add below the top level, as documented in November
 * 2026: OpenRouter, DeepSeek, Mistral, Alibaba, vLLM, and Gemini's compatible API.
 */
export const chatFields = extendTable(
  openaiChatFields,
  {
    audio_url: 'url',
    cache_control: 'ttl type',
    content: `audio audio_url cache_control fps image max_pixels min_pixels reasoning resized_height resized_width
      thinking total_pixels video video_url`,
    function: 'thought_signature',
    function_call: 'id',
    messages:
      'annotations images partial prefix reasoning reasoning_content reasoning_details thinking tool_name',
    reasoning: 'effort enabled exclude max_tokens summary',
    stream_options: 'continuous_usage_stats',
    thinking: 'budget_tokens clear_thinking display type',
    tool_calls: 'extra_content index',
    tools: 'cache_control',
    video_url: 'fps url',
  },
  'annotations chat_template_kwargs extra_content guided_json reasoning_details structural_tag structured_outputs',
);
