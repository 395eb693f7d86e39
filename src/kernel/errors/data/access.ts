import { finalFaults, retryableFaults } from './group';

export const accessFaults = [
  finalFaults('C', 401, {
    auth_context_denied: 'The sign-in context of this request was refused. Sign in again from the start.',
    auth_issue: 'Your sign-in could not be confirmed. Check the credential you sent, or sign in again.',
    authentication: 'This request could not be authenticated. Check the credential it carries.',
    authentication_required: 'You need to sign in to continue.',
    claim_expired: 'The claim made by this credential has expired. Sign in again to get a fresh one.',
    expired_api_key:
      'This API key has expired. Create a new key, or ask your administrator to extend this one.',
    expired_client_secret:
      'This client secret has expired. Request a new one and start the connection again.',
    invalid_api_key: 'This API key is not valid. Check that it was copied in full and has not been revoked.',
    invalid_credentials: 'The email address or the password is not right.',
    invalid_session: 'Your session is no longer valid. Sign in again.',
    invalid_token: 'This token or link is not valid, or has already been used. Request a new one.',
    lease_expired_or_unknown:
      'The lease named in this request has expired or never existed. Acquire a new lease.',
    missing_api_key: 'No API key was sent. Add the header "Authorization: Bearer <API_KEY>".',
    missing_session_key: 'This request carries no session key. Start a session and send its key.',
    model_agentcli_unauthorized: 'The agent runtime refused the credential configured for this model.',
    native_token_error:
      'The native token for this account could not be used. Ask your administrator to renew it.',
    unauthenticated: 'This request is not signed in. Send a valid credential.',
    unauthorized: 'The credential you sent does not authorise this request.',
  }),
  finalFaults('C', 403, {
    csrf_rejected: 'This request did not come from a page of this portal, so nothing was changed.',
  }),
  finalFaults('C', 409, {
    session_collision:
      'Another session already uses this identifier. Sign in again to get a session of your own.',
    session_limit:
      'You have reached the number of sessions you may have open. End one of them, then sign in again.',
  }),
  finalFaults('C', 413, {
    session_too_large: 'The data kept in this session has grown too large. Sign out, then sign in again.',
  }),
  finalFaults('P', 403, {
    account_status: 'Your account is not active. Ask your administrator about its status.',
    client_secret_scope_mismatch:
      'This client secret was issued for a different scope. Request one for this use.',
    fake_adapter_forbidden: 'The test adapter may not be used in this environment.',
    forbidden: 'You are not allowed to do this. Ask an administrator if you need access.',
    origin_required: 'This request must say which origin it comes from. Call it from an allowed origin.',
    permission_denied: 'Your role or key does not permit this operation.',
    replacement_required: 'This resource has been retired. Use its replacement instead.',
    webchat_key_scope: 'This key belongs to the web chat and cannot be used for other calls.',
  }),
  finalFaults('R', 400, {
    invalid_client_secret:
      'The client secret is not in the right form. Request a new one and send it unchanged.',
    invalid_domain: 'This is not a valid domain name. Enter it like example.com, without a path.',
    invalid_email: 'This is not a valid email address.',
    invalid_expires_after: 'The lifetime you asked for is outside the allowed range.',
    invalid_from_address: 'The sender address is not a valid email address.',
    from_address_domain_mismatch: "The sender address must belong to your portal's own domain.",
    missing_client_secret: 'This request needs a client secret. Request one, then send it along.',
    missing_email: 'Enter an email address.',
    raw_secret_field_rejected:
      'Secrets may not be sent in this field. Store the secret, then refer to it by name.',
    weak_password: 'This password is too easy to guess. Use a longer one that is not a common phrase.',
  }),
  finalFaults('R', 403, {
    client_secret_origin_mismatch:
      'This client secret was issued for a different origin. Request one from this page.',
    client_secret_principal_mismatch: 'This client secret belongs to someone else. Request one of your own.',
    csrf_failed: 'The form could not be verified. Reload the page and send it again.',
    email_not_verified: 'Confirm your email address first: open the link in the message we sent you.',
    request_rejected: 'This request was rejected by a policy of the service. The details say what to change.',
    sso_only: 'This account signs in through its identity provider. Use that button instead of a password.',
    tos_not_accepted: 'Accept the current terms of service before you continue.',
  }),
  finalFaults('R', 421, {
    origin_not_allowed: 'Requests from this origin are not allowed. Ask your administrator to add it.',
  }),
  finalFaults('R', 404, {
    no_domain: 'No domain is configured for this portal. Add one first.',
    no_reseller: 'There is no reseller for this address. Check the domain you are using.',
    user_not_found: 'There is no such user, or you may not see it.',
  }),
  finalFaults('R', 409, {
    claim_mismatch: 'This work was claimed by someone else in the meantime. Load it again before you go on.',
    client_secret_collision: 'This client secret is already in use. Request a new one.',
    client_secret_limit: 'You have as many client secrets as are allowed. Let one expire or revoke it first.',
    email_taken: 'This email address already has an account. Sign in, or reset the password.',
    identity_cycle: 'This change would make an identity depend on itself. Choose a different parent.',
    lease_mismatch: 'This lease belongs to a different holder or resource. Acquire your own lease.',
  }),
  retryableFaults('B', 503, {
    auth_unavailable:
      'Your credential cannot be checked at the moment. It has not been refused; try again shortly.',
    model_authorization_unavailable:
      'Whether you may use this model cannot be checked right now. Try again shortly.',
    origin_context_unavailable: 'The origin of this request cannot be checked right now. Try again shortly.',
  }),
] as const;
