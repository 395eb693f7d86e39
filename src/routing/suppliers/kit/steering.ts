/**
 * Fields that tell some clients and gateways where to send a request, with which secret, or which other model to
 * take. Here the catalogue decides that alone, so they never go further. `region` is a field of our own.
 */
export const steeringFields: ReadonlySet<string> = new Set([
  'api_base',
  'api_key',
  'api_type',
  'api_version',
  'aws_access_key_id',
  'aws_bedrock_runtime_endpoint',
  'aws_region_name',
  'aws_secret_access_key',
  'aws_session_token',
  'azure_ad_token',
  'base_url',
  'custom_llm_provider',
  'default_headers',
  'endpoint',
  'extra_body',
  'extra_headers',
  'extra_query',
  'fallbacks',
  'headers',
  'litellm_params',
  'mock_response',
  'models',
  'organization',
  'provider',
  'proxy',
  'region',
  'route',
  'vertex_credentials',
  'vertex_location',
  'vertex_project',
]);

export const isSteering = (name: string): boolean =>
  steeringFields.has(name) || name.toLowerCase().startsWith('x-svc-');
