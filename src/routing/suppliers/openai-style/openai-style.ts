import { dialects } from '../../../protocol';
import {
  authorisation,
  endpoint,
  jsonBody,
  OPERATIONS,
  type OutgoingCall,
  passing,
  picturesOf,
  prepared,
  type SupplierStyle,
} from '../kit';
import { applyProfile } from './edits';
import { operationsOf, type Profile, profileOf } from './profiles';

const passingHeaders = ['openai-beta'];

export const openaiStyle: SupplierStyle = {
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
    // Lanes of such a supplier name deployments, which its list of models does not.
    if (apiVersion !== undefined) return null;
    return { url: endpoint(provider, prefix, '/models'), headers: authorisation(credential, keyHeader) };
  },
  readError: dialects.chat.readError,
};

export function prepareWith(profile: Profile, call: OutgoingCall): ReturnType<SupplierStyle['prepare']> {
  const body = jsonBody(call, (edits) => applyProfile(edits, profile, call));
  return prepared(call, urlOf(profile, call), body, {
    ...passing(call.headers, passingHeaders),
    ...authorisation(call.credential, profile.keyHeader),
  });
}

function urlOf(profile: Profile, { lane, wire }: OutgoingCall): URL {
  const path = (wire === 'gemini' ? undefined : OPERATIONS[wire].path) ?? '';
  const { provider, upstreamModel } = lane;
  if (profile.apiVersion === undefined) return endpoint(provider, profile.prefix, path);
  // A base address with a version is that of the interface without deployments and without dated versions.
  if (/\/v\d+\/*$/.test(provider.baseUrl)) return endpoint(provider, '', path);
  // Only that interface has responses; the deployment is named in the body there.
  if (wire === 'responses') return endpoint(provider, '/openai/v1', path);
  const url = new URL(endpoint(provider, `/openai/deployments/${encodeURIComponent(upstreamModel)}`, path));
  url.searchParams.set('api-version', profile.apiVersion);
  return url;
}
