import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { Gate } from '#extension';
import { parseJsonText, SECOND_MS } from '../../kernel';
import { OutgoingClient, Settings, webhookHeaders } from '../../platform';

type HttpGateOptions = Settings['httpGates'][number];

const MAX_NOTICE_BYTES = 64 * 1024;

/** Gates that are separate services. Each gets the same JSON as an extension, signed according to Standard Webhooks. */
@Injectable()
export class HttpGates {
  readonly all: readonly Gate[];

  constructor(
    private readonly settings: Settings,
    private readonly client: OutgoingClient,
  ) {
    this.all = settings.httpGates.map((setting) => this.gateOf(setting));
  }

  private gateOf(setting: HttpGateOptions): Gate {
    const { name, timeoutMs, onError, stages } = setting;
    // Settings without a secret were rejected at start.
    const secrets = this.settings.httpGateSecrets.get(name)!;
    const post = (body: object, signal: AbortSignal, maxBytes = this.settings.bodyLimitBytes) =>
      this.post(setting, { secrets, body: JSON.stringify(body), mostBytes: maxBytes, signal });
    return {
      name,
      timeoutMs,
      onError,
      ...(stages.includes('request') && {
        request: async (request, signal) =>
          parseJsonText(await post({ type: 'gate.request', request }, signal)) as never,
      }),
      ...(stages.includes('candidates') && {
        candidates: async (request, lanes, signal) =>
          parseJsonText(await post({ type: 'gate.candidates', request, lanes }, signal)) as never,
      }),
      ...(stages.includes('settled') && {
        settled: async (record, signal) => {
          await post({ type: 'gate.settled', record }, signal, MAX_NOTICE_BYTES);
        },
      }),
    };
  }

  private async post(
    { url, timeoutMs }: HttpGateOptions,
    message: {
      readonly secrets: readonly Buffer[];
      readonly body: string;
      readonly mostBytes: number;
      readonly signal: AbortSignal;
    },
  ): Promise<string> {
    const { secrets, body, mostBytes, signal } = message;
    const signature = webhookHeaders(secrets, { id: `msg_${randomUUID()}`, body, now: Date.now() });
    const headers = { 'content-type': 'application/json', ...signature };
    const response = await this.client.read(
      { url, method: 'POST', headers, body, signal },
      // The signal aborts first, at the gate's own deadline.
      { mostBytes, deadlineMs: timeoutMs + SECOND_MS },
    );
    if (response.status < 200 || response.status > 299)
      throw new Error(`it answered with ${response.status}`);
    return response.body.toString('utf8');
  }
}
