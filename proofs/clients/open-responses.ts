import assert from 'node:assert/strict';
import {
  findOpenResponsesFaults,
  readOpenResponses,
  openResponsesItems,
} from '../../test/support/open-responses';
import type { AgentTrial } from './agent';

/** Models, one per API format of the supplier. */
const models = ['chat-model', 'responses-model', 'messages-model', 'gemini-model', 'mistral-model'];

/** Runs the HTTP items of the openresponses.org compliance suite on the five lanes. */
export async function tryOpenResponses({ product, findings }: AgentTrial): Promise<void> {
  for (const model of models)
    for (const [item, body] of Object.entries(openResponsesItems))
      await findings.attempt(`Open Responses · ${model} · ${item}`, async () => {
        const answer = await fetch(`${product.url}/v1/responses`, {
          method: 'POST',
          headers: { authorization: `Bearer ${product.key}`, 'content-type': 'application/json' },
          body: JSON.stringify({ model, ...body }),
        });
        const text = await answer.text();
        assert.equal(answer.status, 200, text);
        assert.deepEqual(findOpenResponsesFaults(item, readOpenResponses(item, text)), []);
      });
}
