import type { ServerResponse } from 'node:http';
import { Body, Controller, Req, Res } from '@nestjs/common';
import { ActivityLog, changesOf } from '../../audit';
import { CatalogueEditor, type ModelState, ModelSheets } from '../../catalogue';
import { Database } from '../../platform';
import { Access, Action, type HttpRequest, PageRenderer, wantsPage } from '../../web';
import { MODELS_PAGE, pathBack } from './answers';
import { BulkStateForm } from './forms';

interface Moved {
  readonly model: string;
  readonly before: ModelState;
  readonly after: ModelState;
}

/** Sets one state for several models, or one state each, which undo needs. All of them change, or none. */
@Controller()
export class BulkController {
  constructor(
    private readonly database: Database,
    private readonly sheets: ModelSheets,
    private readonly editor: CatalogueEditor,
    private readonly activity: ActivityLog,
    private readonly pages: PageRenderer,
  ) {}

  @Action(`${MODELS_PAGE}/bulk-state`, Access.role('platform_admin'), { audit: 'model.state-changed' })
  async change(
    @Body() form: BulkStateForm,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: ServerResponse,
  ) {
    const moved = await this.move(form);
    if (!wantsPage(request)) return { ok: true, changed: moved };
    response.setHeader('content-type', 'text/html; charset=utf-8');
    return this.pages.page('pages/admin/catalogue/bulk', { moved, back: pathBack(form.back) }, request);
  }

  private move({ model, state, reason }: BulkStateForm): Promise<Moved[]> {
    return this.database.transaction(async (tx) => {
      const moved: Moved[] = [];
      for (const [place, name] of [...new Set(model)].entries()) {
        const { model: found } = await this.sheets.read(tx, name);
        const [before, after] = [found.state, state[place] ?? state[0] ?? found.state];
        if (before === after) continue;
        await this.editor.setState(tx, name, after);
        await this.activity.write(tx, {
          action: 'model.state-changed',
          object: { type: 'model', id: found.id, label: name },
          concerns: {},
          changes: changesOf({ state: before }, { state: after }),
          ...(reason === undefined ? {} : { reason }),
        });
        moved.push({ model: name, before, after });
      }
      if (moved.length === 0) this.activity.nothingChanged();
      return moved;
    });
  }
}
