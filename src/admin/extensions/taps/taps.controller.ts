import { Body, Controller, Query, Req } from '@nestjs/common';
import { DeadLetters, Taps, TapTests } from '../../../audit';
import { fault } from '../../../kernel';
import {
  Access,
  Action,
  addressOf,
  done,
  type Done,
  type HttpRequest,
  localisationOf,
  Page,
  PageRenderer,
} from '../../../web';
import type { ObjectPageModel } from '../../pages/object-page';
import { LetterForm, LettersForm, TapForm, TapsQuery } from './taps.form';
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
    private readonly pages: PageRenderer,
  ) {}

  @Page(TAPS_PATH, 'pages/admin/object', Access.role('platform_admin'))
  async show(@Query() query: TapsQuery, @Req() request: HttpRequest): Promise<ObjectPageModel> {
    const states = await this.letters.states();
    const taps = states.map((state) => ({ ...state, isLoaded: this.taps.named(state.name) !== undefined }));
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
    const error = await this.tests.run(tap);
    if (error === undefined) throw gone();
    const facts = { ok: error === null, tap, error };
    return error === null
      ? done(placeOf(tap), facts, 'taps.tested')
      : done(placeOf(tap), facts, 'taps.test-failed', { error });
  }

  @Action(`${TAPS_PATH}/replay`, Access.role('platform_admin'), { audit: 'tap.letters-replayed' })
  async replay(@Body() { tap, letter_id: id }: LettersForm): Promise<Done> {
    const count = await this.letters.replay({ tap, ...(id === undefined ? {} : { id: String(id) }) });
    if (count === 0) throw gone();
    return done(placeOf(tap), { ok: true, tap, letters: count }, 'taps.replayed', { count });
  }

  @Action(`${TAPS_PATH}/drop`, Access.role('platform_admin'), { audit: 'tap.letters-dropped' })
  async drop(@Body() { tap, letter_id: id }: LetterForm): Promise<Done> {
    if ((await this.letters.drop({ tap, id: String(id) })) === 0) throw gone();
    return done(placeOf(tap), { ok: true, tap, letters: 1 }, 'taps.dropped-one');
  }

  @Action(`${TAPS_PATH}/forget`, Access.role('platform_admin'), { audit: 'tap.forgotten' })
  async forget(@Body() { tap }: TapForm): Promise<Done> {
    if ((await this.letters.forget(tap)) === 0) throw gone();
    return done(TAPS_PATH, { ok: true, tap }, 'taps.forgotten');
  }
}

const placeOf = (tap: string): string => addressOf(TAPS_PATH, new URLSearchParams(), { tap });

const gone = (): Error =>
  fault('not_found', { message: 'There is no such tap or dead letter.', details: { reason: 'gone' } });
