import {
  ObjectStorage,
  type OutgoingClient,
  type Settings,
  type SinkSetting,
  credentialIn,
} from '../../../platform';
import { SinkFailure } from '../failure';
import type { Sink } from '../held-tap';
import { datadogSink } from './datadog-sink';
import { langfuseSink } from './langfuse-sink';
import { otlpSink } from './otlp-sink';
import { storageSink } from './storage-sink';

/** Services of others, as the operator lists them. The settings were refused where a secret is missing. */
export const sinksOf = ({ sinks, sinkSecrets }: Settings, outgoing: OutgoingClient): Sink[] =>
  sinks.map((setting) => {
    const secrets = sinkSecrets.get(setting.name) ?? [];
    return discreet(sinkOf(setting, secrets, outgoing), secrets);
  });

function sinkOf(setting: SinkSetting, secrets: readonly string[], outgoing: OutgoingClient): Sink {
  const [secret = ''] = secrets;
  switch (setting.kind) {
    case 's3':
      return storageSink(
        setting,
        new ObjectStorage(outgoing, setting.place, credentialIn(secret)!, { tries: 3 }),
      );
    case 'langfuse':
      return langfuseSink(setting, secret, outgoing);
    case 'otlp':
      return otlpSink(setting, secrets, outgoing);
    case 'datadog':
      return datadogSink(setting, secret, outgoing);
  }
}

const SHORTEST_SECRET = 8;

/** What a receiver answers is shown and logged, and may repeat what it was sent. */
function discreet(sink: Sink, secrets: readonly string[]): Sink {
  const words = secrets
    .flatMap((secret) => [secret, Buffer.from(secret).toString('base64'), ...secret.split(/:\s?|\s/)])
    .filter(({ length }) => length >= SHORTEST_SECRET);
  const hide = (text: string): string =>
    words.reduce((shown, word) => shown.replaceAll(word, '[redacted]'), text);
  return {
    ...sink,
    async send(records, signal) {
      try {
        const answer = await sink.send(records, signal);
        return answer === null ? null : hide(answer);
      } catch (error) {
        if (!(error instanceof SinkFailure)) throw error;
        const { kind, message, retryAfterMs, refused } = error;
        const hidden = new Map([...refused].map(([id, reason]) => [id, hide(reason)]));
        throw new SinkFailure(kind, hide(message), { retryAfterMs, refused: hidden });
      }
    },
  };
}
