// Replaces the module `cloudflare:email`, which workerd does not have. The SDK imports it and needs
// it only to send mail.

export class EmailMessage {}
