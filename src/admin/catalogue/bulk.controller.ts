import type { ServerResponse } from 'node:http';
import { Body, Controller, Req, Res } from '@nestjs/common';
import { ActivityLog, changesOf } from '../../audit';
import { CatalogueEditor, type ModelState, ModelDetailService } from '../../catalogue';
import { Database } from '../../platform';
import { Access, Action, type HttpRequest, PageRenderer, wantsPage } from '../../web';
import { MODELS_PAGE, pathBack } from './change-response';
import { BulkStateForm } from './catalogue.dto';

interface StateChange {
  readonly model: string;
  readonly before: ModelState;
  readonly after: ModelState;
}

/** Sets one state for several models, or one state each for undo. All models change, or none. */
@Controller()
export class BulkController {
  constructor(
    private readonly database: Database,
    private readonly models: ModelDetailService,
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
    const stateChanges = await this.changeStates(form);
    if (!wantsPage(request)) return { ok: true, changed: stateChanges };
    response.setHeader('content-type', 'text/html; charset=utf-8');
    return this.pages.page(
      'pages/admin/catalogue/bulk',
      { moved: stateChanges, back: pathBack(form.back) },
      request,
    );
  }

  private changeStates({ model, state, reason }: BulkStateForm): Promise<StateChange[]> {
    return this.database.transaction(async (tx) => {
      const stateChanges: StateChange[] = [];
      for (const [index, name] of [...new Set(model)].entries()) {
        const { model: current } = await this.models.read(tx, name);
        const [before, after] = [current.state, state[index] ?? state[0] ?? current.state];
        if (before === after) continue;
        await this.editor.setState(tx, name, after);
        await this.activity.write(tx, {
          action: 'model.state-changed',
          object: { type: 'model', id: current.id, label: name },
          concerns: {},
          changes: changesOf({ state: before }, { state: after }),
          ...(reason === undefined ? {} : { reason }),
        });
        stateChanges.push({ model: name, before, after });
      }
      if (stateChanges.length === 0) this.activity.reportNoChange();
      return stateChanges;
    });
  }
}
