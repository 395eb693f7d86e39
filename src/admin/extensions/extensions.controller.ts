import { Controller, Req } from '@nestjs/common';
import { CONTRACT_VERSION } from '#extension';
import { Extensions } from '../../extensions';
import { Metrics } from '../../platform';
import { Access, type HttpRequest, localisationOf, Page, PageRenderer } from '../../web';
import { extensionModel, type ExtensionFacts, factsOf, withVerdicts } from './extensions-model';

/** What teams have added to this service: the same on every node, as it comes from the configuration. */
@Controller()
export class ExtensionsController {
  private readonly facts: readonly ExtensionFacts[];

  constructor(
    private readonly pages: PageRenderer,
    private readonly metrics: Metrics,
    { all }: Extensions,
  ) {
    this.facts = all.map(factsOf);
  }

  @Page('/dashboard/admin/extensions', 'pages/admin/extensions', Access.role('platform_admin'), {
    data: true,
  })
  show(@Req() request: HttpRequest) {
    const localisation = localisationOf(this.pages, request);
    const counted = withVerdicts(this.facts, this.metrics.gateVerdicts.all());
    return {
      contract: CONTRACT_VERSION,
      extensions: counted.map((facts) => extensionModel(facts, localisation)),
      empty: {
        title: localisation.translate('extensions.nothing-title'),
        text: localisation.translate('extensions.nothing-text'),
      },
      data: { contract: CONTRACT_VERSION, extensions: counted },
    };
  }
}
