import { expectStatus, jsonOf } from '../operations/http';
import type { PortalUser, World } from '../operations/world';

const admin = '/dashboard/admin';

/** Creates an alert whose first delivery failed and returns the path of its page. */
export async function createFailedAlert(world: World, operator: PortalUser): Promise<string> {
  const channel = { kind: 'mail', name: 'On call', audience: 'owners', least_severity: 'info' };
  const createResponse = await operator.client.post(`${admin}/alerts/channels/create`, { json: channel });
  expectStatus(createResponse, 200);
  const incidentDetails = {
    model: 'sim-large',
    provider: 'northcloud',
    region: 'eu-central',
    cause: 'backend_error',
  };
  const [alert] = await world.rows<{ id: string }>(
    `INSERT INTO alert (kind, subject, severity, facts, since, seen_at)
     VALUES ('lane-open', 'told', 'warning', $1, now() - interval '2 h', now()) RETURNING id`,
    [{ ...incidentDetails, from_at: new Date().toISOString() }],
  );
  await world.rows(
    `INSERT INTO alert_delivery (alert_id, channel_id, event, due_at, attempts, outcome, last_error, done_at)
     VALUES ($1, $2, 'triggered', now(), 3, 'failed', 'the mail server refused it', now()),
            ($1, $2, 'raised', now(), 1, 'delivered', NULL, now())`,
    [alert?.id, jsonOf(createResponse)['id']],
  );
  return `${admin}/alerts/${alert?.id}`;
}

/** Creates pending decisions after a restore; the running service is not quarantined and continues. */
export async function createQuarantine(world: World): Promise<void> {
  const findings = { at: new Date(), jobs: { mail: 3, evaluation: 1 }, processor: { state: 'off' } };
  await world.rows(
    `WITH opened AS (
       INSERT INTO quarantine (moment, backup, restored_at, ended, findings)
       VALUES (now() - interval '1 h', '20260131T120000Z-full', now(), '{"sessions": 3, "links": 1, "invitations": 0}', $1)
       RETURNING id),
     journal AS (
       INSERT INTO quarantine_journal (quarantine_id, file, node, records)
       SELECT id, 'journal/a-node-with-a-long-name/000012', 'a-node-with-a-long-name', 2 FROM opened)
     INSERT INTO quarantine_charge (quarantine_id, request_id, created_at, node, model, cost_nano)
     SELECT id, gen_random_uuid(), now(), 'a-node-with-a-long-name', 'sim-large', 1200000 FROM opened`,
    [findings],
  );
}
