import { dialects } from '../../../protocol';
import {
  authorisation,
  endpoint,
  jsonBody,
  OPERATIONS,
  type StyleCall,
  forwardedHeaders,
  picturesOf,
  prepareCall,
  type CoreStyle,
} from '../kit';
import { applyProfile } from './edits';
import { operationsOf, type SupplierProfile, profileOf } from './profiles';

const forwardedHeaderNames = ['openai-beta'];

export const openaiStyle: CoreStyle = {
  name: 'openai-style',
  credential: 'bearer',
  needsCredential: (provider) => profileOf(provider).needsCredential,
  operations: (provider) => operationsOf(profileOf(provider)),
  fields: (provider) => {
    const { validates, own } = profileOf(provider);
    return { validates, own: (operation) => own[operation] ?? [] };
  },
  target: ({ provider, upstreamModel, facts }) => {
    const { limitField, developerRole } = profileOf(provider);
    return { model: upstreamModel, facts, developerRole, limitField: limitField ?? 'max_tokens' };
  },
  pictures: ({ provider, facts }) => picturesOf(profileOf(provider).pictures, facts),
  prepare: (call) => prepareWith(profileOf(call.lane.provider), call),
  modelList: (provider, credential) => {
    const { prefix, keyHeader, apiVersion } = profileOf(provider);
    // Lanes of such a supplier name deployments, which its list of models does not contain.
    if (apiVersion !== undefined) return null;
    return { url: endpoint(provider, prefix, '/models'), headers: authorisation(credential, keyHeader) };
  },
  readError: dialects.chat.readError,
};

export function prepareWith(profile: SupplierProfile, call: StyleCall): ReturnType<CoreStyle['prepare']> {
  const body = jsonBody(call, (edits) => applyProfile(edits, profile, call));
  return prepareCall(call, urlOf(profile, call), body, {
    ...forwardedHeaders(call.headers, forwardedHeaderNames),
    ...authorisation(call.credential, profile.keyHeader),
  });
}

function urlOf(profile: SupplierProfile, { lane, wire }: StyleCall): URL {
  const path = (wire === 'gemini' ? undefined : OPERATIONS[wire].path) ?? '';
  const { provider, upstreamModel } = lane;
  if (profile.apiVersion === undefined) return endpoint(provider, profile.prefix, path);
  // A base URL with a version belongs to the API without deployments and dated versions.
  if (/\/v\d+\/*$/.test(provider.baseUrl)) return endpoint(provider, '', path);
  // Only the versioned API has responses; there the body names the deployment.
  if (wire === 'responses') return endpoint(provider, '/openai/v1', path);
  const url = new URL(endpoint(provider, `/openai/deployments/${encodeURIComponent(upstreamModel)}`, path));
  url.searchParams.set('api-version', profile.apiVersion);
  return url;
}
