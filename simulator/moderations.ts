import { errorReply } from './complaint';
import { hashName } from './hash';
import { listOf, objectOf, textOf } from './json';
import { jsonReply, type Reply } from './reply';
import type { Handler } from './route';
import { modelExists } from './settings';
import { fieldSet, missingParameter, unknownParameter } from './strict/strict';
import { checkOpenaiModel } from './strict/strict-chat';

const categories = ['harassment', 'hate', 'illicit', 'self-harm', 'sexual', 'violence'];

/** A text is flagged, as violence, if and only if it contains `[[flag]]`. */
export const moderations: Handler = ({ body, settings }): Reply => {
  const { input, model = `${settings.modelPrefix}moderation` } = body;
  const complaint =
    unknownParameter(body, fieldSet('input model')) ??
    (input === undefined ? missingParameter('input') : undefined) ??
    (modelExists(textOf(model), settings) ? undefined : checkOpenaiModel(model, settings));
  if (complaint) return errorReply('openai', complaint);
  const texts = typeof input === 'string' ? [input] : listOf(input).map(inputText);
  const results = texts.map((text) => {
    const flagged = text.includes('[[flag]]');
    const hit = (category: string): boolean => flagged && category === 'violence';
    return {
      flagged,
      categories: Object.fromEntries(categories.map((category) => [category, hit(category)])),
      category_scores: Object.fromEntries(
        categories.map((category) => [category, hit(category) ? 0.98 : 0.01]),
      ),
    };
  });
  return jsonReply({ id: `modr-${hashName(...texts)}`, model, results });
};

function inputText(input: unknown): string {
  return typeof input === 'string' ? input : textOf(objectOf(input)['text']);
}
