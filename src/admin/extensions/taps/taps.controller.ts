import { Body, Controller, Query, Req } from '@nestjs/common';
import { DeadLetters, Taps, type TapTest, TapTests } from '../../../audit';
import { fault } from '../../../kernel';
import {
  Access,
  Action,
  addressOf,
  done,
  type ActionResult,
  type HttpRequest,
  localisationOf,
  type Notice,
  Page,
  PageRenderer,
} from '../../../web';
import type { ObjectPageModel } from '../../pages/object-page';
import { TestMessageRate } from '../../test-message-rate';
import { LettersForm, TapForm, TapsQuery } from './taps.dto';
import { TAPS_PATH, tapsPage } from './taps-page';

const PAGE_SIZE = 20;
const EMPTY_PAGE = { rows: [], next: null, previous: null };

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
    const taps = states.map((state) => ({ ...state, held: this.taps.find(state.name) ?? null }));
    const selectedTap = taps.find(({ name }) => name === query.tap) ?? null;
    if (selectedTap === null && query.tap !== undefined) throw notFound();
    const letters =
      selectedTap === null
        ? EMPTY_PAGE
        : await this.letters.page(selectedTap.name, { limit: PAGE_SIZE, cursor: query.cursor ?? null });
    return tapsPage(request, { taps, selectedTap, letters }, localisationOf(this.pages, request));
  }

  @Action(`${TAPS_PATH}/test`, Access.role('platform_admin'), { audit: 'tap.tested' })
  async test(@Body() { tap }: TapForm): Promise<ActionResult> {
    await this.testRate.take('tap-tests', null);
    const result = await this.tests.run(tap);
    if (result === 'no-tap') throw notFound();
    if (result === 'no-record')
      return done(tapHref(tap), { ok: false, tap, error: 'nothing settled' }, NOTHING_TO_SEND);
    const { requestId, answer, error } = result;
    const body = { ok: error === null, tap, request_id: requestId, answer, error };
    return done(tapHref(tap), body, noticeOf(result));
  }

  @Action(`${TAPS_PATH}/replay`, Access.role('platform_admin'), { audit: 'tap.letters-replayed' })
  async replay(@Body() { tap, letter_id: id }: LettersForm): Promise<ActionResult> {
    const count = await this.letters.replay({ tap, ...(id === undefined ? {} : { id: String(id) }) });
    if (count === 0) throw notFound();
    return done(tapHref(tap), { ok: true, tap, letters: count }, 'taps.replayed', { count });
  }

  @Action(`${TAPS_PATH}/drop`, Access.role('platform_admin'), { audit: 'tap.letters-dropped' })
  async drop(@Body() { tap, letter_id: id }: LettersForm): Promise<ActionResult> {
    const count = await this.letters.drop({ tap, ...(id === undefined ? {} : { id: String(id) }) });
    if (count === 0) throw notFound();
    return done(tapHref(tap), { ok: true, tap, letters: count }, 'taps.dropped-letters', { count });
  }

  @Action(`${TAPS_PATH}/forget`, Access.role('platform_admin'), { audit: 'tap.forgotten' })
  async forget(@Body() { tap }: TapForm): Promise<ActionResult> {
    if ((await this.letters.forget(tap)) === 0) throw notFound();
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

const tapHref = (tap: string): string => addressOf(TAPS_PATH, new URLSearchParams(), { tap });

const notFound = (): Error =>
  fault('not_found', { message: 'There is no such tap or dead letter.', details: { reason: 'gone' } });
