import { gemini, type SupplierError } from '../../../protocol';
import { authorisation, endpoint, jsonBody, passing, picturesOf, prepared, type SupplierStyle } from '../kit';

export const geminiStyle: SupplierStyle = {
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
      const given = typeof config === 'object' && config !== null ? config : {};
      edits.set.generationConfig = { ...given, maxOutputTokens };
    });
    const path = `/models/${encodeURIComponent(lane.upstreamModel)}:${action}`;
    return prepared(call, endpoint(lane.provider, '/v1beta', path), body, {
      ...passing(headers, []),
      ...authorisation(credential, 'x-goog-api-key'),
    });
  },
  readError: (body): SupplierError | undefined => gemini.readError(body),
};
