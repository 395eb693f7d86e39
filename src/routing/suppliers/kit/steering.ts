/**
 * Fields with which some clients, gateways and servers choose a request's destination, secret or model. Never
 * forwarded, since only the catalogue decides; `region` is a field of this gateway.
 */
export const steeringFields: ReadonlySet<string> = new Set(
  [
    // Destination and transport.
    `adapter_id adapter_source api_base api_type api_version azure azure_endpoint backend base_url bootstrap_host
     bootstrap_port bootstrap_room callback_url custom_host custom_llm_provider data_parallel_rank deployment
     deployment_id endpoint host hostname http_client kv_transfer_params proxy proxy_url ssl_verify target_url targets
     upstream url use_litellm_proxy webhook webhook_url`,
    // Credentials and accounts.
    `access_token api_key api_token auth authorization aws_access_key_id aws_bedrock_runtime_endpoint aws_external_id
     aws_profile_name aws_region_name aws_role_name aws_secret_access_key aws_session_name aws_session_token
     aws_sts_endpoint aws_web_identity_token azure_ad_token azure_ad_token_provider azure_password azure_scope
     azure_username client_id client_secret credentials litellm_credential_name openai_organization organization
     organization_id password project_id secret secret_fields tenant_id user_api_key vertex_ai_credentials
     vertex_ai_location vertex_ai_project vertex_credentials vertex_location vertex_project virtual_key`,
    // Region.
    `allowed_model_region region region_name s3_bucket_name s3_endpoint_url s3_region_name watsonx_region_name`,
    // Payment.
    `billing_policy`,
    // Model, or the rule that chooses it.
    `base_model content_policy_fallbacks context_window_fallback_dict context_window_fallbacks default_fallbacks
     disable_fallbacks fallback fallback_models fallbacks hf_model_name lora_path lora_request model_alias_map
     model_config model_group model_info model_list models preset provider route router_settings_override
     routing_strategy safety_model specific_deployment strategy tags transforms`,
    // Changes and side effects on the way.
    `cache caching callbacks config custom_logit_processor custom_prompt_dict data_sources datasources default_headers
     default_query enhancements extra_body extra_headers extra_query failure_callback guardrail_config guardrails headers
     litellm_call_id litellm_logging_obj litellm_metadata litellm_params litellm_session_id litellm_system_prompt
     litellm_trace_id logger_fn logits_processors mock_response mock_testing_content_policy_fallbacks
     mock_testing_context_fallbacks mock_testing_fallbacks mock_timeout mock_tool_calls no-log plugins preset_cache_key
     provider_specific_header proxy_server_request success_callback user_config`,
    // Reporting to third parties.
    `arize_api_key arize_space_id arize_space_key gcs_bucket_name humanloop_api_key langfuse_host langfuse_public_key
     langfuse_secret langfuse_secret_key langsmith_api_key langsmith_base_url langsmith_project`,
    // Retries, timeouts and budgets.
    `budget_duration cooldown_time force_timeout input_cost_per_second input_cost_per_token max_budget
     max_parallel_requests max_retries num_retries output_cost_per_second output_cost_per_token request_timeout
     retry_policy retry_strategy rpm stream_timeout timeout tpm`,
  ].flatMap((group) => group.split(/\s+/)),
);

const gatewayHeader = /^x-svc-/i;

export const isSteering = (name: string): boolean => steeringFields.has(name) || gatewayHeader.test(name);
