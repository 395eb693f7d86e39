import {
  ObjectStorage,
  type OutgoingClient,
  type Settings,
  type SinkSetting,
  credentialIn,
} from '../../../platform';
import { SinkFailure } from '../failure';
import type { Sink } from '../registered-tap';
import { datadogSink } from './datadog-sink';
import { langfuseSink } from './langfuse-sink';
import { otlpSink } from './otlp-sink';
import { storageSink } from './storage-sink';

export const sinksOf = ({ sinks, sinkSecrets }: Settings, outgoing: OutgoingClient): Sink[] =>
  sinks.map((setting) => {
    const secrets = sinkSecrets.get(setting.name) ?? [];
    return redactSecrets(sinkOf(setting, secrets, outgoing), secrets);
  });

function sinkOf(setting: SinkSetting, secrets: readonly string[], outgoing: OutgoingClient): Sink {
  const [secret = ''] = secrets;
  switch (setting.kind) {
    case 's3':
      return storageSink(
        setting,
        new ObjectStorage(outgoing, setting.place, credentialIn(secret)!, { maxAttempts: 3 }),
      );
    case 'langfuse':
      return langfuseSink(setting, secret, outgoing);
    case 'otlp':
      return otlpSink(setting, secrets, outgoing);
    case 'datadog':
      return datadogSink(setting, secret, outgoing);
  }
}

const MIN_SECRET_LENGTH = 8;

/** A receiver's response is shown and logged, and might repeat what was sent. */
function redactSecrets(sink: Sink, secrets: readonly string[]): Sink {
  const secretTexts = secrets
    .flatMap((secret) => [secret, Buffer.from(secret).toString('base64'), ...secret.split(/:\s?|\s/)])
    .filter(({ length }) => length >= MIN_SECRET_LENGTH);
  const hide = (text: string): string =>
    secretTexts.reduce((result, secretText) => result.replaceAll(secretText, '[redacted]'), text);
  return {
    ...sink,
    async send(records, signal) {
      try {
        const response = await sink.send(records, signal);
        return response === null ? null : hide(response);
      } catch (error) {
        if (!(error instanceof SinkFailure)) throw error;
        const { kind, message, retryAfterMs, refused } = error;
        const redacted = new Map([...refused].map(([id, reason]) => [id, hide(reason)]));
        throw new SinkFailure(kind, hide(message), { retryAfterMs, refused: redacted });
      }
    },
  };
}
