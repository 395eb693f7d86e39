import { abstain, defineExtension, rewrite, type TextPiece } from '@switchboard/extension';
import { finderOf } from './find';
import { LONGEST, maskedJson, maskedText, placesIn } from './mask';
import { placeholdersWith } from './placeholders';
import { settings } from './settings';

/**
 * Personal data never reaches a supplier, and never comes back from one. One gate does both: `request` gives the texts
 * of a request anew, and `answer` masks every text of the answer, whole or streamed.
 */
export default defineExtension({
  id: 'personal-data',
  version: '1.0.0',
  host: '^1',
  settings,
  setup({ settings: { kinds, secret }, log }) {
    const find = placesIn(finderOf(kinds), placeholdersWith(secret));
    log.info('personal data is blanked out', { kinds });

    /** The arguments of a tool call are JSON and have to stay so. The words of a tool's own description stay. */
    const shown = ({ kind, text }: TextPiece): string => {
      if (kind === 'definition') return text;
      return kind === 'arguments' ? maskedJson(text, find) : maskedText(text, find);
    };

    return {
      gates: [
        {
          name: 'blank',
          timeoutMs: 1_000,
          // Rather no answer than one with personal data in it.
          onError: 'closed',
          request({ texts }) {
            const changed = texts.flatMap((piece, at) => {
              const text = shown(piece);
              return text === piece.text ? [] : [{ at, text }];
            });
            return changed.length === 0 ? abstain : rewrite(changed);
          },
          // A stream is held back by so many characters, so that nothing is cut in two.
          answer: { longest: LONGEST, find },
        },
      ],
    };
  },
});
