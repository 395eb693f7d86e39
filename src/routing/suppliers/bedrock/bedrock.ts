import type { IncomingHttpHeaders } from 'node:http';
import { entryOf } from '../../../kernel';
import { encoded, signRequest } from '../../../platform';
import { dialects, type SupplierError } from '../../../protocol';
import {
  authorisation,
  endpoint,
  jsonBody,
  type OutgoingCall,
  passing,
  picturesOf,
  prepared,
  type PreparedCall,
  type SupplierStyle,
} from '../kit';
import { betasOf, editMessages, messagesOperations } from '../messages-style/messages-style';
import { MessagesUnframer } from './unframe';

const BODY_VERSION = 'bedrock-2023-05-31';
const hostRegion = /^bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\./;

const { count_tokens: _notServed, ...operations } = messagesOperations;

/** Models of the messages dialect stand behind AWS with the same body and another envelope. */
export const bedrock: SupplierStyle = {
  name: 'bedrock',
  credential: 'sigv4',
  needsCredential: () => true,
  operations: () => operations,
  fields: () => ({ validates: true, own: () => [] }),
  target: ({ upstreamModel, facts }) => ({ model: upstreamModel, facts }),
  pictures: ({ facts }) => picturesOf('anthropic', facts),
  prepare: (call) => signed(unsigned(call), call),
  readError: readBedrockError,
  unframer: () => new MessagesUnframer(),
};

/** Model and stream stand in the address, version and betas in the body. */
function unsigned(call: OutgoingCall): PreparedCall {
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
  const url = endpoint(lane.provider, '', `/model/${encoded(lane.upstreamModel)}/${action}`);
  const whole = prepared(call, url, body, {});
  return {
    ...whole,
    headers: { ...whole.headers, accept: stream ? 'application/vnd.amazon.eventstream' : 'application/json' },
  };
}

function signed(request: PreparedCall, { lane, credential, headers, now }: OutgoingCall): PreparedCall {
  const added =
    credential?.kind === 'sigv4'
      ? signRequest({ ...request, body: request.body.whole }, credential, {
          region: regionOf(lane),
          service: 'bedrock',
          now: now(),
        })
      : authorisation(credential, 'authorization');
  // Headers that proxies on the way may change are not signed.
  return { ...request, headers: { ...request.headers, ...passing(headers, []), ...added } };
}

function regionOf({ provider, region }: OutgoingCall['lane']): string {
  const { settings, baseUrl } = provider;
  if (typeof settings.aws_region === 'string') return settings.aws_region;
  return hostRegion.exec(new URL(baseUrl).hostname)?.[1] ?? region;
}

const typeOfException: Readonly<Record<string, string>> = {
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

/** The body is `{message}`; what kind it is of stands in a header. */
function readBedrockError(body: unknown, headers: IncomingHttpHeaders): SupplierError | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const message: unknown = Reflect.get(body, 'message') ?? Reflect.get(body, 'Message');
  const name = /^[^:]*/.exec(String(headers['x-amzn-errortype'] ?? ''))?.[0] ?? '';
  if (typeof message !== 'string' && name === '') return undefined;
  return dialects.messages.readError({
    type: 'error',
    error: { type: entryOf(typeOfException, name), message },
  });
}
