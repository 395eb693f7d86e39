import type { IncomingHttpHeaders } from 'node:http';
import { entryOf } from '../../../kernel';
import { uriEncode, signRequest } from '../../../platform';
import { dialects, type SupplierError } from '../../../protocol';
import {
  authorisation,
  endpoint,
  jsonBody,
  type StyleCall,
  forwardedHeaders,
  picturesOf,
  prepareCall,
  type PreparedStyleCall,
  type CoreStyle,
} from '../kit';
import { betasOf, editMessages, messagesOperations } from '../messages-style/messages-style';
import { MessagesUnframer } from './unframe';

const BODY_VERSION = 'bedrock-2023-05-31';
const hostRegion = /^bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\./;

const { count_tokens: _notServed, ...operations } = messagesOperations;

/** Messages models on AWS: the same body with a different envelope. */
export const bedrock: CoreStyle = {
  name: 'bedrock',
  credential: 'sigv4',
  needsCredential: () => true,
  operations: () => operations,
  fields: () => ({ validates: true, own: () => [] }),
  target: ({ upstreamModel, facts }) => ({ model: upstreamModel, facts }),
  pictures: ({ facts }) => picturesOf('anthropic', facts),
  prepare: (call) => signedCall(unsignedCall(call), call),
  readError: readBedrockError,
  unframer: () => new MessagesUnframer(),
};

/** Model and streaming mode are part of the URL, version and betas part of the body. */
function unsignedCall(call: StyleCall): PreparedStyleCall {
  const { lane, stream } = call;
  const body = jsonBody(call, (edits) => {
    editMessages(edits, call);
    edits.dropOwnLabels();
    delete edits.set.model;
    edits.remove.add('model').add('stream');
    edits.set.anthropic_version = BODY_VERSION;
    const betas = betasOf(call);
    if (betas !== undefined) edits.set.anthropic_beta = betas.split(',').map((beta) => beta.trim());
  });
  const action = stream ? 'invoke-with-response-stream' : 'invoke';
  const url = endpoint(lane.provider, '', `/model/${uriEncode(lane.upstreamModel)}/${action}`);
  const base = prepareCall(call, url, body, {});
  return {
    ...base,
    headers: { ...base.headers, accept: stream ? 'application/vnd.amazon.eventstream' : 'application/json' },
  };
}

function signedCall(
  request: PreparedStyleCall,
  { lane, credential, headers, now }: StyleCall,
): PreparedStyleCall {
  const added =
    credential?.kind === 'sigv4'
      ? signRequest({ ...request, body: request.body.buffer }, credential, {
          region: regionOf(lane),
          service: 'bedrock',
          now: now(),
        })
      : authorisation(credential, 'authorization');
  // Headers that intermediate proxies might change are not signed.
  return { ...request, headers: { ...request.headers, ...forwardedHeaders(headers, []), ...added } };
}

function regionOf({ provider, region }: StyleCall['lane']): string {
  const { settings, baseUrl } = provider;
  if (typeof settings.aws_region === 'string') return settings.aws_region;
  return hostRegion.exec(new URL(baseUrl).hostname)?.[1] ?? region;
}

const errorTypeByException: Readonly<Record<string, string>> = {
  AccessDeniedException: 'permission_error',
  UnrecognizedClientException: 'authentication_error',
  ExpiredTokenException: 'authentication_error',
  ResourceNotFoundException: 'not_found_error',
  ThrottlingException: 'rate_limit_error',
  ServiceQuotaExceededException: 'rate_limit_error',
  ModelNotReadyException: 'overloaded_error',
  ModelTimeoutException: 'timeout_error',
  ServiceUnavailableException: 'overloaded_error',
  InternalServerException: 'api_error',
  ValidationException: 'invalid_request_error',
};

/** The body is `{message}`; a header names the type of the error. */
function readBedrockError(body: unknown, headers: IncomingHttpHeaders): SupplierError | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const message: unknown = Reflect.get(body, 'message') ?? Reflect.get(body, 'Message');
  const name = /^[^:]*/.exec(String(headers['x-amzn-errortype'] ?? ''))?.[0] ?? '';
  if (typeof message !== 'string' && name === '') return undefined;
  return dialects.messages.readError({
    type: 'error',
    error: { type: entryOf(errorTypeByException, name), message },
  });
}
