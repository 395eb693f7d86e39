import { startSimulator, type Simulator } from '../../support/simulator';
import { call, messagesHeaders, openaiHeaders } from './client';

let simulator: Simulator;
beforeAll(async () => void (simulator = await startSimulator()));
afterAll(() => simulator.stop());

const user = { role: 'user', content: 'hello' };

test('each API format requires its own key header, and Messages a version', async () => {
  const status = async (path: string, headers: Record<string, string>): Promise<number> =>
    (
      await call(
        `${simulator.url}${path}`,
        { model: 'sim-small', max_tokens: 9, messages: [user] },
        { headers },
      )
    ).status;
  const versionHeader = { 'anthropic-version': '2023-06-01' };
  expect(await status('/v1/chat/completions', {})).toBe(401);
  expect(await status('/v1/chat/completions', { authorization: 'Bearer other' })).toBe(401);
  expect(await status('/v1/chat/completions', { 'x-api-key': 'sim-key' })).toBe(401);
  expect(await status('/v1/chat/completions', openaiHeaders)).toBe(200);
  expect(await status('/v1/messages', versionHeader)).toBe(401);
  expect(await status('/v1/messages', { 'x-api-key': 'other', ...versionHeader })).toBe(401);
  expect(await status('/v1/messages', { 'x-api-key': 'sim-key' })).toBe(400);
  expect(await status('/v1/messages', messagesHeaders)).toBe(200);
  expect(await status('/v1/messages', { authorization: 'Bearer sim-key', ...versionHeader })).toBe(200);
});
