import { errorReply } from './complaint';
import { numberOf, textOf } from './json';
import { smallPng } from './media';
import { jsonReply, type Reply } from './reply';
import type { Handler } from './route';
import { createdAt } from './settings';
import { fieldSet, missingParameter, numberWithin, unknownParameter } from './strict/strict';
import { checkOpenaiModel } from './strict/strict-chat';
import { countTokens } from './tokens';
import { distortUsage } from './usage';

const fields = fieldSet(
  'model prompt background moderation n output_compression output_format partial_images quality response_format ' +
    'size stream style user',
);
const TOKENS_PER_IMAGE = 272;

export const imageGenerations: Handler = ({ body, settings, usageVariant }): Reply => {
  const complaint =
    unknownParameter(body, fields) ??
    (textOf(body['prompt']) === '' ? missingParameter('prompt') : undefined) ??
    numberWithin(body, 'n', 1, 10, true) ??
    checkOpenaiModel(body['model'], settings);
  if (complaint) return errorReply('openai', complaint);
  const count = numberOf(body['n']) ?? 1;
  const text = countTokens(textOf(body['prompt']));
  const output = count * TOKENS_PER_IMAGE;
  const usage = {
    input_tokens: text,
    input_tokens_details: { text_tokens: text, image_tokens: 0 },
    output_tokens: output,
    total_tokens: text + output,
  };
  return jsonReply({
    created: createdAt,
    data: Array.from({ length: count }, () => ({ b64_json: smallPng.toString('base64') })),
    usage: distortUsage(usage, usageVariant),
  });
};
