import {
  AutoLearner,
  AutoSalts,
  type Example,
  extractFeatures,
  type ExampleOutcome,
} from '#product/autorouter';
import type { TestApp } from './app';

const counters = {
  tokens: 20,
  turns: 1,
  tools: 0,
  hasToolResult: false,
  hasImage: false,
  hasDocument: false,
  jsonMode: false,
  systemLength: 0,
  stream: false,
};

/** Creates an example from a scored request, as the learning loop does. */
export async function createExample(
  app: TestApp,
  organisationId: number,
  {
    id,
    text,
    outcomes,
    at = Date.now(),
  }: { id: string; text: string; outcomes: ExampleOutcome[]; at?: number },
): Promise<Example> {
  const salt = await app.application.get(AutoSalts).of(organisationId);
  const { bucket, structure, hashes, counts } = extractFeatures({ ...counters, text }, salt);
  return { id, at, weight: 1, bucket, tokensIn: counters.tokens, structure, hashes, counts, outcomes };
}

export const createOutcome = (model: string, score: number): ExampleOutcome => ({
  model,
  score,
  tokensOut: 40,
  latencyMs: 200,
});

export async function learnExample(
  app: TestApp,
  organisationId: number,
  example: Parameters<typeof createExample>[2],
  userId: number | null = null,
): Promise<boolean> {
  return app.application
    .get(AutoLearner)
    .learn(organisationId, userId, await createExample(app, organisationId, example));
}
