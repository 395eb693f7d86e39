import { abstain, defineExtension, rewrite, type TextPiece } from '@switchboard/extension';
import { finderOf } from './find';
import { MAX_MATCH_LENGTH, maskJson, maskText, spanFinder } from './mask';
import { placeholdersWith } from './placeholders';
import { settings } from './settings';

/**
 * Keeps personal data from reaching a supplier or coming back from one. One gate does both: `request` rewrites the
 * texts of a request, and `answer` masks every text of the response.
 */
export default defineExtension({
  id: 'personal-data',
  version: '1.0.0',
  host: '^1',
  settings,
  setup({ settings: { kinds, secret }, log }) {
    const find = spanFinder(finderOf(kinds), placeholdersWith(secret));
    log.info('personal data is blanked out', { kinds });

    /** The arguments of a tool call must stay valid JSON. The description of a tool is not masked. */
    const maskPiece = ({ kind, text }: TextPiece): string => {
      if (kind === 'definition') return text;
      return kind === 'arguments' ? maskJson(text, find) : maskText(text, find);
    };

    return {
      gates: [
        {
          name: 'blank',
          timeoutMs: 1_000,
          // A request without a response is better than one with personal data in it.
          onError: 'closed',
          request({ texts }) {
            const changed = texts.flatMap((piece, at) => {
              const text = maskPiece(piece);
              return text === piece.text ? [] : [{ at, text }];
            });
            return changed.length === 0 ? abstain : rewrite(changed);
          },
          // A stream is held back by this many characters, so that no match is cut.
          answer: { longest: MAX_MATCH_LENGTH, find },
        },
      ],
    };
  },
});
