import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { Gate } from '#extension';
import { parseJsonText, SECOND_MS } from '../../kernel';
import { OutgoingClient, Settings, webhookHeaders } from '../../platform';

type HttpGateSetting = Settings['httpGates'][number];

const LARGEST_NOTICE = 64 * 1024;

/** Gates that are services of their own: each gets the same JSON as an extension, signed as Standard Webhooks says. */
@Injectable()
export class HttpGates {
  readonly all: readonly Gate[];

  constructor(
    private readonly settings: Settings,
    private readonly client: OutgoingClient,
  ) {
    this.all = settings.httpGates.map((setting) => this.gateOf(setting));
  }

  private gateOf(setting: HttpGateSetting): Gate {
    const { name, timeoutMs, onError, stages } = setting;
    // The settings were refused without it.
    const secrets = this.settings.httpGateSecrets.get(name)!;
    const post = (body: object, signal: AbortSignal, mostBytes = this.settings.bodyLimitBytes) =>
      this.post(setting, { secrets, body: JSON.stringify(body), mostBytes, signal });
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
          await post({ type: 'gate.settled', record }, signal, LARGEST_NOTICE);
        },
      }),
    };
  }

  private async post(
    { url, timeoutMs }: HttpGateSetting,
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
    const answer = await this.client.read(
      { url, method: 'POST', headers, body, signal },
      // The signal comes first, at the gate's own deadline.
      { mostBytes, deadlineMs: timeoutMs + SECOND_MS },
    );
    if (answer.status < 200 || answer.status > 299) throw new Error(`it answered with ${answer.status}`);
    return answer.body.toString('utf8');
  }
}
