import { Controller, Req } from '@nestjs/common';
import { CONTRACT_VERSION } from '#extension';
import { Extensions } from '../../extensions';
import { Metrics } from '../../platform';
import { Access, type HttpRequest, localisationOf, Page, PageRenderer } from '../../web';
import { extensionModel, type ExtensionSummary, summariseExtension, withVerdicts } from './extensions-model';

@Controller()
export class ExtensionsController {
  private readonly summaries: readonly ExtensionSummary[];

  constructor(
    private readonly pages: PageRenderer,
    private readonly metrics: Metrics,
    { all }: Extensions,
  ) {
    this.summaries = all.map(summariseExtension);
  }

  @Page('/dashboard/admin/extensions', 'pages/admin/extensions', Access.role('platform_admin'), {
    data: true,
  })
  show(@Req() request: HttpRequest) {
    const localisation = localisationOf(this.pages, request);
    const summaries = withVerdicts(this.summaries, this.metrics.gateVerdicts.all());
    return {
      contract: CONTRACT_VERSION,
      extensions: summaries.map((summary) => extensionModel(summary, localisation)),
      empty: {
        title: localisation.translate('extensions.nothing-title'),
        text: localisation.translate('extensions.nothing-text'),
      },
      data: { contract: CONTRACT_VERSION, extensions: summaries },
    };
  }
}
