import { gemini, type SupplierError } from '../../../protocol';
import {
  authorisation,
  endpoint,
  jsonBody,
  forwardedHeaders,
  picturesOf,
  prepareCall,
  type CoreStyle,
} from '../kit';

export const geminiStyle: CoreStyle = {
  name: 'gemini',
  credential: 'header',
  needsCredential: () => true,
  operations: () => ({ chat: 'gemini', messages: 'gemini', responses: 'gemini' }),
  fields: () => ({ validates: true, own: () => [] }),
  target: ({ upstreamModel, facts }) => ({ model: upstreamModel, facts }),
  pictures: ({ facts }) => picturesOf('gemini', facts),
  prepare: (call) => {
    const { lane, stream, maxOutputTokens, headers, credential } = call;
    const action = stream ? 'streamGenerateContent?alt=sse' : 'generateContent';
    const body = jsonBody(call, (edits) => {
      if (maxOutputTokens === undefined) return;
      const config = edits.parsed.generationConfig;
      const existing = typeof config === 'object' && config !== null ? config : {};
      edits.set.generationConfig = { ...existing, maxOutputTokens };
    });
    const path = `/models/${encodeURIComponent(lane.upstreamModel)}:${action}`;
    return prepareCall(call, endpoint(lane.provider, '/v1beta', path), body, {
      ...forwardedHeaders(headers, []),
      ...authorisation(credential, 'x-goog-api-key'),
    });
  },
  readError: (body): SupplierError | undefined => gemini.readError(body),
};
