import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Usage,
  usageOf,
  type UsageCounts,
  type UsageReading,
  type UsageSource,
} from '../../../src/kernel';
import { findTranscriptionUsage, normaliseTranscriptionUsage } from '../../../src/protocol/audio/usage';
import { findChatUsage, normaliseChatUsage } from '../../../src/protocol/chat/usage';
import { findEmbeddingsUsage, normaliseEmbeddingsUsage } from '../../../src/protocol/embeddings/usage';
import { findGeminiUsage, normaliseGeminiUsage } from '../../../src/protocol/gemini/usage';
import { findImageUsage, normaliseImageUsage } from '../../../src/protocol/image/usage';
import { findMessagesUsage, normaliseMessagesUsage } from '../../../src/protocol/messages/usage';
import { findRerankUsage, normaliseRerankUsage } from '../../../src/protocol/rerank/usage';
import { findResponsesUsage, normaliseResponsesUsage } from '../../../src/protocol/responses/usage';

interface UsageRecording {
  name: string;
  body: unknown;
  reading:
    | ({ kind: 'ok'; counts: Partial<UsageCounts>; source?: UsageSource } & Pick<
        Usage,
        'doubt' | 'ignored' | 'missing' | 'totalOfBoth' | 'untimedWrites'
      >)
    | { kind: 'absent' }
    | { kind: 'invalid' };
}

const readers: Record<string, (body: unknown) => UsageReading> = {
  chat: (body) => normaliseChatUsage(findChatUsage(body)),
  messages: (body) => normaliseMessagesUsage(findMessagesUsage(body)),
  responses: (body) => normaliseResponsesUsage(findResponsesUsage(body)),
  embeddings: (body) => normaliseEmbeddingsUsage(findEmbeddingsUsage(body)),
  rerank: (body) => normaliseRerankUsage(findRerankUsage(body)),
  transcription: (body) => normaliseTranscriptionUsage(findTranscriptionUsage(body)),
  image: (body) => normaliseImageUsage(findImageUsage(body)),
  gemini: (body) => normaliseGeminiUsage(findGeminiUsage(body)),
};

function recordings(dialect: string): UsageRecording[] {
  const path = join(__dirname, '../../fixtures/usage', `${dialect}.json`);
  return JSON.parse(readFileSync(path, 'utf8')) as UsageRecording[];
}

describe.each(Object.keys(readers))('Recorded usage of %s', (dialect) => {
  test.each(recordings(dialect).map((recording) => [recording.name, recording] as const))(
    '%s',
    (_name, { body, reading }) => {
      const normalised = readers[dialect]?.(body);
      if (reading.kind === 'ok') {
        const { kind, counts, source, ...notes } = reading;
        expect(normalised).toEqual({ kind, usage: { ...usageOf(counts, source), ...notes } });
      } else expect(normalised?.kind).toBe(reading.kind);
    },
  );
});
