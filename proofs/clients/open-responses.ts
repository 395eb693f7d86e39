import assert from 'node:assert/strict';
import { openResponsesFaults, openResponsesIn, openResponsesItems } from '../../test/support/open-responses';
import type { Trial } from './agent';

/** One model behind a supplier of each API format. */
const models = ['chat-model', 'responses-model', 'messages-model', 'gemini-model', 'mistral-model'];

/** The HTTP items of the compliance suite of openresponses.org on the five lanes. */
export async function tryOpenResponses({ product, findings }: Trial): Promise<void> {
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
        assert.deepEqual(openResponsesFaults(item, openResponsesIn(item, text)), []);
      });
}
