import { judgeErrorResponse } from '../../../src/routing/suppliers/kit';
import { messagesStyle } from '../../../src/routing/suppliers/messages-style/messages-style';
import { dialects } from '../../../src/protocol';

/** Findings, row A7. */
describe('Misleading supplier errors', () => {
  test('contract_spend_limit_reached (429) is an exhausted account and not a rate limit', () => {
    const error = {
      type: 'rate_limit_error',
      message: 'Your contract has reached its spend limit.',
      details: { error_code: 'contract_spend_limit_reached' },
    };
    const body = Buffer.from(JSON.stringify({ type: 'error', error }));
    expect(judgeErrorResponse(messagesStyle, { status: 429, headers: {}, body }).kind).toBe('account');
  });

  test.each(['error', 'insufficient_system_resource'])(
    'finish_reason %s is an incomplete response',
    (reason) => {
      const choice = { index: 0, message: { role: 'assistant', content: 'Half' }, finish_reason: reason };
      const { events } = dialects.chat.decodeAnswer({ id: 'c', model: 'm', choices: [choice] });
      expect(events.at(-1)).toMatchObject({ type: 'fault', fault: { code: 'upstream_error' } });
    },
  );
});
