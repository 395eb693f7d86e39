import { bedrock } from '../../../src/routing/suppliers/bedrock/bedrock';
import { geminiStyle } from '../../../src/routing/suppliers/gemini/gemini-style';
import { judgeErrorResponse } from '../../../src/routing/suppliers/kit';
import { messagesStyle } from '../../../src/routing/suppliers/messages-style/messages-style';
import { openaiStyle } from '../../../src/routing/suppliers/openai-style/openai-style';
import { type ErrorSign, errorSigns, meaningOf } from '../../../src/vendors';
import { bodyOf, styleOf } from '../../support/vendor-errors';

const styles = [openaiStyle, messagesStyle, geminiStyle, bedrock];

const read = (row: ErrorSign, body: object, status = row.status): string => {
  const style = styles.find(({ name }) => name === styleOf(row))!;
  return judgeErrorResponse(style, { status, headers: {}, body: Buffer.from(JSON.stringify(body)) }).kind;
};
const named = errorSigns.map((row) => [`${row.vendor} ${row.by} ${String(row.match)}`, row] as const);
const worded = errorSigns.filter(({ by, means }) => by === 'words' && means === 'account');

test.each(named)('%s', (_name, row) => {
  expect(read(row, bodyOf(row))).toBe(row.means);
  expect(row.source).not.toBe('');
  expect(row.date).toMatch(/^20\d\d-\d\d-\d\d$/);
});

/** The forms in which vendors repeat a part of the request. */
const repeated: readonly ((text: string) => string)[] = [
  (text) => `${text}: Extra inputs are not permitted`,
  (text) => `${text}.: Extra inputs are not permitted`,
  (text) => `Invalid value: '${text}'. Supported values are: 'auto'.`,
  (text) => `Unrecognized request argument supplied: ${text}`,
  (text) => `"${text}" is not a valid model`,
  (text) => `The model \`${text}\` does not exist`,
  (text) => `tools.0.custom.name: String should match pattern; input was ${text}`,
  (text) => `Unknown name "${text}": Cannot find field.`,
];

test.each(worded.map((row) => [row.text!, row] as const))(
  'a caller cannot spend our account by writing "%.40s"',
  (text, row) => {
    for (const repeat of repeated)
      for (const body of [{ ...row, text: repeat(text) }])
        expect(read(row, bodyOf(body), 400)).toBe('invalid');
  },
);

test.each(['rate limit: Extra inputs are not permitted', 'overloaded: Field required'])(
  'nor close a lane with "%s"',
  (message) => {
    expect(meaningOf({ type: 'invalid_request_error', message, status: 400 })).toBe('invalid');
    // Of a stream or a failure of the supplier's the same words are the supplier's own.
    expect(['rate_limit', 'overloaded']).toContain(meaningOf({ message, status: 503 }));
  },
);

test('a code says more than a status, and a status more than words', () => {
  expect(meaningOf({ code: 'credit_balance_exhausted', message: 'Rate limit', status: 429 })).toBe('account');
  expect(meaningOf({ code: 'insufficient_quota', message: '', status: 400 })).toBe('account');
  expect(meaningOf({ type: 'invalid_request_error', message: 'Insufficient Balance', status: 402 })).toBe(
    'account',
  );
  expect(meaningOf({ message: 'This organization has been disabled.', status: 404 })).toBe('not_found');
  expect(meaningOf({ message: 'This organization has been disabled.' })).toBe('account');
});
