import { Body, Controller, Query, Req } from '@nestjs/common';
import { DeadLetters, Taps, type TapTest, TapTests } from '../../../audit';
import { fault } from '../../../kernel';
import {
  Access,
  Action,
  addressOf,
  done,
  type Done,
  type HttpRequest,
  localisationOf,
  type Notice,
  Page,
  PageRenderer,
} from '../../../web';
import type { ObjectPageModel } from '../../pages/object-page';
import { TestMessageRate } from '../../test-message-rate';
import { LettersForm, TapForm, TapsQuery } from './taps.form';
import { TAPS_PATH, tapsPage } from './taps-page';

const LETTERS_A_PAGE = 20;
const NO_LETTERS = { rows: [], next: null, previous: null };

/** Where taps stand, and what becomes of records that they do not take. */
@Controller()
export class TapsController {
  constructor(
    private readonly taps: Taps,
    private readonly letters: DeadLetters,
    private readonly tests: TapTests,
    private readonly testRate: TestMessageRate,
    private readonly pages: PageRenderer,
  ) {}

  @Page(TAPS_PATH, 'pages/admin/object', Access.role('platform_admin'))
  async show(@Query() query: TapsQuery, @Req() request: HttpRequest): Promise<ObjectPageModel> {
    const states = await this.letters.states();
    const taps = states.map((state) => ({ ...state, held: this.taps.named(state.name) ?? null }));
    const chosen = taps.find(({ name }) => name === query.tap) ?? null;
    if (chosen === null && query.tap !== undefined) throw gone();
    const letters =
      chosen === null
        ? NO_LETTERS
        : await this.letters.page(chosen.name, { limit: LETTERS_A_PAGE, cursor: query.cursor ?? null });
    return tapsPage(request, { taps, chosen, letters }, localisationOf(this.pages, request));
  }

  /** It waits for the tap, and answers what that said. */
  @Action(`${TAPS_PATH}/test`, Access.role('platform_admin'), { audit: 'tap.tested' })
  async test(@Body() { tap }: TapForm): Promise<Done> {
    await this.testRate.take('tap-tests', null);
    const tried = await this.tests.run(tap);
    if (tried === 'no-tap') throw gone();
    if (tried === 'no-record')
      return done(placeOf(tap), { ok: false, tap, error: 'nothing settled' }, NOTHING_TO_SEND);
    const { requestId, answer, error } = tried;
    const facts = { ok: error === null, tap, request_id: requestId, answer, error };
    return done(placeOf(tap), facts, noticeOf(tried));
  }

  @Action(`${TAPS_PATH}/replay`, Access.role('platform_admin'), { audit: 'tap.letters-replayed' })
  async replay(@Body() { tap, letter_id: id }: LettersForm): Promise<Done> {
    const count = await this.letters.replay({ tap, ...(id === undefined ? {} : { id: String(id) }) });
    if (count === 0) throw gone();
    return done(placeOf(tap), { ok: true, tap, letters: count }, 'taps.replayed', { count });
  }

  @Action(`${TAPS_PATH}/drop`, Access.role('platform_admin'), { audit: 'tap.letters-dropped' })
  async drop(@Body() { tap, letter_id: id }: LettersForm): Promise<Done> {
    const count = await this.letters.drop({ tap, ...(id === undefined ? {} : { id: String(id) }) });
    if (count === 0) throw gone();
    return done(placeOf(tap), { ok: true, tap, letters: count }, 'taps.dropped-letters', { count });
  }

  @Action(`${TAPS_PATH}/forget`, Access.role('platform_admin'), { audit: 'tap.forgotten' })
  async forget(@Body() { tap }: TapForm): Promise<Done> {
    if ((await this.letters.forget(tap)) === 0) throw gone();
    return done(TAPS_PATH, { ok: true, tap }, 'taps.forgotten');
  }
}

const NOTHING_TO_SEND = { tone: 'warn', text: 'taps.nothing-to-send' } as const;

function noticeOf({ requestId: request, answer, error }: TapTest): Notice {
  if (error !== null) return { tone: 'bad', text: 'taps.test-failed', values: { request, error } };
  return answer === null
    ? { tone: 'ok', text: 'taps.tested', values: { request } }
    : { tone: 'ok', text: 'taps.tested-answer', values: { request, answer } };
}

const placeOf = (tap: string): string => addressOf(TAPS_PATH, new URLSearchParams(), { tap });

const gone = (): Error =>
  fault('not_found', { message: 'There is no such tap or dead letter.', details: { reason: 'gone' } });
