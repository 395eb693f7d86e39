import type { Client } from '../operations/http';

interface OpenStreamResult {
  readonly milliseconds: number;
  readonly text: string;
}

/** Opens a stream and waits for its first bytes; `ended` measures the time from then to its end. */
export async function openStream(
  url: string,
  client: Client,
  body: object,
): Promise<{ ended(): Promise<OpenStreamResult> }> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { ...client.headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(60_000),
  });
  const reader = response.body?.getReader();
  if (response.status !== 200 || reader === undefined) throw new Error(`no stream: ${response.status}`);
  const decoder = new TextDecoder();
  const first = await reader.read();
  return {
    ended: async () => {
      const startedAt = performance.now();
      let text = decoder.decode(first.value, { stream: true });
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return { milliseconds: performance.now() - startedAt, text };
        text += decoder.decode(value, { stream: true });
      }
    },
  };
}
