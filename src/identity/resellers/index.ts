export { isProven } from './host-proof';
export { isProvenPortal } from './host-proof.query';
export { HostProofs } from './host-proofs.service';
export { type ResellerDomain, ResellerDomains, invalidLogo } from './reseller-domains.service';
