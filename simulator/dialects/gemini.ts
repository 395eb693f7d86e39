import { answerTo, questionOf, type ModelAnswer, type Finish } from '../answer';
import { errorReply } from '../complaint';
import { listOf, objectOf, type JsonObject } from '../json';
import { dataFrame, jsonReply, type Reply } from '../reply';
import type { Handler } from '../route';
import { modelExists } from '../settings';
import { distortUsage, type UsageVariant } from '../usage';
import { geminiSignature } from '../vendors';
import { readGemini } from './gemini-reader';

const path = /^\/v1beta\/models\/([^:]+):(generateContent|streamGenerateContent)$/;

const finishes: Readonly<Record<Finish, string>> = {
  end: 'STOP',
  length: 'MAX_TOKENS',
  tools: 'STOP',
  'stop-sequence': 'STOP',
  filter: 'SAFETY',
};

export const isGeminiPath = (address: string): boolean => path.test(address);

export const geminiModelOf = (address: string): string => decodeURIComponent(path.exec(address)?.[1] ?? '');

export const generateContent: Handler = (call): Reply => {
  const { body, key, settings, usageVariant } = call;
  const model = geminiModelOf(call.path);
  if (!modelExists(model, settings)) {
    return errorReply('gemini', {
      status: 404,
      message: `models/${model} is not found for API version v1beta, or is not supported for generateContent.`,
    });
  }
  if (listOf(body['contents']).length === 0)
    return errorReply('gemini', {
      message: '* GenerateContentRequest.contents: contents is not specified\n',
    });
  const conversation = readGemini(model, body);
  if (questionOf(conversation.turns).directives.text('filter') === '')
    return jsonReply({ promptFeedback: { blockReason: 'SAFETY' }, modelVersion: model });
  const answer = answerTo(conversation);
  const shows = objectOf(objectOf(body['generationConfig'])['thinkingConfig'])['includeThoughts'] === true;
  const writer = new SimulatedGeminiWriter(answer, key, shows, usageVariant);
  return call.path.endsWith(':streamGenerateContent')
    ? {
        kind: 'stream',
        dialect: 'gemini',
        frames: writer.frames(),
        preamble: 0,
        closing: 1,
        tempo: answer.tempo,
      }
    : jsonReply(writer.completeResponse(), { tempo: answer.tempo });
};

class SimulatedGeminiWriter {
  constructor(
    private readonly answer: ModelAnswer,
    private readonly account: string,
    private readonly showsThoughts: boolean,
    private readonly variant: UsageVariant | undefined,
  ) {}

  completeResponse(): JsonObject {
    const { text } = this.answer;
    const textParts = text.length > 0 ? [{ text: text.join('') }] : [];
    return this.chunk([...this.thoughts(), ...textParts, ...this.calls()], true);
  }

  frames(): string[] {
    const pieces = this.answer.text.map((piece) => [{ text: piece }]);
    const thoughts = this.thoughts();
    return [...(thoughts.length > 0 ? [thoughts] : []), ...pieces]
      .map((parts) => dataFrame(this.chunk(parts, false)))
      .concat(dataFrame(this.chunk(this.calls(), true)));
  }

  private thoughts(): JsonObject[] {
    const { reasoning } = this.answer;
    return this.showsThoughts && reasoning.length > 0 ? [{ text: reasoning.join(''), thought: true }] : [];
  }

  /** Only the first of several parallel calls carries the signature. */
  private calls(): JsonObject[] {
    return this.answer.calls.map(({ name, input }, index) => ({
      functionCall: { name, args: input },
      ...(index === 0 ? { thoughtSignature: geminiSignature(this.account, name) } : {}),
    }));
  }

  private chunk(parts: readonly JsonObject[], isLast: boolean): JsonObject {
    const { answer, variant } = this;
    const { uncachedInput, cacheRead, output, reasoning } = answer.usage;
    const prompt = uncachedInput + cacheRead;
    const usage = {
      promptTokenCount: prompt,
      ...(cacheRead > 0 ? { cachedContentTokenCount: cacheRead } : {}),
      candidatesTokenCount: output,
      thoughtsTokenCount: reasoning,
      totalTokenCount: prompt + output + reasoning,
    };
    const finish = isLast ? { finishReason: finishes[answer.finish] } : {};
    return {
      candidates: [{ content: { role: 'model', parts }, ...finish, index: 0 }],
      ...(isLast ? { usageMetadata: distortUsage(usage, variant) } : {}),
      modelVersion: answer.model,
      responseId: answer.key,
    };
  }
}
