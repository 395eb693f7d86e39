import { defineExtension } from '@switchboard/extension';
import { CostCentresModule } from './pages';
import { reportCommand, reportJob } from './report';

/** Reports the costs of departments and projects by cost centre. */
export default defineExtension({
  id: 'cost-centres',
  version: '1.0.0',
  host: '^1',
  needs: ['db'],
  migrations: './migrations',
  views: './views',
  messages: './messages',
  navigation: [
    {
      name: 'cost-centres',
      href: '/x/cost-centres',
      icon: 'billing',
      minimum: 'org_admin',
      group: 'administration',
    },
  ],
  setup: (host) => ({
    module: CostCentresModule,
    jobs: [reportJob(host)],
    commands: [reportCommand(host)],
  }),
});
